// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// hostile INTERFACE RATE SECONDS
//
// Sends multicast DNS packets that nobody should have to read, from the other end of a veth pair: compression loops
// and chains, counts that lie, records that break off, 50,000 instance names and types, goodbyes for them, records
// that live for a second, addresses that flip, truncated queries full of known answers, queries of every kind from
// spoofed and off-link sources, by multicast and by unicast. Half a second later it announces one honest
// service, once.
//
// It prints "flooded PACKETS BYTES-SENT BYTES-RECEIVED", then "announced TIME" (CLOCK_MONOTONIC in ns), and at the end
// of its standard input "end BYTES-SENT BYTES-RECEIVED": IP packets with UDP port 5353, received from the one tested.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { A = 1, CNAME = 5, PTR = 12, TXT = 16, SRV = 33, NSEC = 47, ANY = 255, NAMES = 50000, KINDS = 12 };

static int raw, interface_index;
static uint64_t state = 1, sent_bytes, received_bytes, sent_packets;
static uint8_t message[9100];
static int length;

static void fail(const char *what) {
    fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint32_t draw(uint32_t limit) {
    uint64_t value = state += 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return (uint32_t)((value ^ value >> 31) % limit);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void byte(int value) { message[length++] = (uint8_t)value; }
static void word(int value) { byte(value >> 8), byte(value & 0xFF); }

static void begin(int flags, int questions, int answers) {
    length = 0;
    word(0), word(flags), word(questions), word(answers), word(0), word(0);
}

/// Writes the labels of a name with dots; no label of ours has one.
static void name(const char *text) {
    while (*text) {
        size_t size = strcspn(text, ".");
        byte((int)size);
        memcpy(message + length, text, size);
        length += (int)size;
        text += size + (text[size] == '.');
    }
    byte(0);
}

static int record(const char *owner, int type, int class, int lifetime) {
    name(owner);
    word(type), word(class), word(lifetime >> 16), word(lifetime & 0xFFFF), word(0);
    return length;
}

static void close_record(int start) {
    message[start - 2] = (uint8_t)((length - start) >> 8);
    message[start - 1] = (uint8_t)(length - start);
}

static void pointer(const char *owner, const char *target, int lifetime) {
    int start = record(owner, PTR, 1, lifetime);
    name(target);
    close_record(start);
}

static void service(const char *owner, const char *host, int port, int lifetime) {
    int start = record(owner, SRV, 0x8001, lifetime);
    word(0), word(0), word(port);
    name(host);
    close_record(start);
}

static void address(const char *owner, uint32_t value, int lifetime) {
    int start = record(owner, A, 0x8001, lifetime);
    word((int)(value >> 16)), word((int)(value & 0xFFFF));
    close_record(start);
}

static void transmit(uint32_t source, int port, bool unicast) {
    uint8_t frame[14 + 28 + sizeof message];
    static const uint8_t group[6] = {0x01, 0x00, 0x5E, 0x00, 0x00, 0xFB}, broadcast[6] = {255, 255, 255, 255, 255, 255};
    memcpy(frame, unicast ? broadcast : group, 6);
    memcpy(frame + 6, (uint8_t[6]){0x02, 0x66, 0, 0, 0, 1}, 6);
    frame[12] = 8, frame[13] = 0;
    struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 255, .protocol = IPPROTO_UDP};
    ip.tot_len = htons((uint16_t)(28 + length));
    ip.saddr = htonl(source);
    ip.daddr = htonl(unicast ? 0x0A4D0001 : 0xE00000FB);
    uint32_t sum = 0;
    uint16_t words[10];
    memcpy(words, &ip, 20);
    for (int i = 0; i < 10; i++) sum += words[i];
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    ip.check = (uint16_t)~sum;
    memcpy(frame + 14, &ip, 20);
    uint16_t udp[4] = {htons((uint16_t)port), htons(5353), htons((uint16_t)(8 + length)), 0};
    memcpy(frame + 34, udp, 8);
    memcpy(frame + 42, message, (size_t)length);
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = interface_index, .sll_halen = 6};
    if (sendto(raw, frame, (size_t)(42 + length), 0, (struct sockaddr *)&to, sizeof to) < 0) {
        if (errno != ENOBUFS && errno != EAGAIN) fail("send");
        return;
    }
    sent_packets++;
    sent_bytes += (uint64_t)(28 + length);
}

static void flood(int kind) {
    char type[64], instance[128], host[64];
    uint32_t spoofed = draw(2) ? 0x0A4D0000 + 256 + draw(60000) : draw(0xDFFFFFFF);
    uint32_t number = draw(NAMES);
    snprintf(type, sizeof type, "_flood-%u._tcp.local", number % 5000);
    snprintf(instance, sizeof instance, "Flood %u.%s", number, type);
    snprintf(host, sizeof host, "flood-%u.local", number);
    int port = 5353;
    bool unicast = false;
    switch (kind) {
    case 0:  // A name that points to itself, and two that point to each other.
        begin(0x8400, 0, 1);
        word(0xC00C);
        word(PTR), word(1), word(0), word(120), word(2), word(0xC00C);
        break;
    case 1:  // A chain of pointers, each to the one before.
        begin(0x8400, 0, 1);
        byte(0);
        word(TXT), word(1), word(0), word(120), word(1200);
        word(0);
        for (int i = 1; i < 600; i++) word(0xC000 | (length - 2));
        break;
    case 2:  // Counts that lie, and lengths.
        begin(0x8400, draw(65536), draw(65536));
        for (uint32_t i = draw(40); i > 0; i--) byte((int)draw(256));
        break;
    case 3:  // Labels without end: 254 bytes of one-byte labels, asked in many questions.
        begin(0, 200, 0);
        for (int i = 0; i < 127; i++) byte(1), byte('a');
        byte(0), word(ANY), word(0x8001);
        for (int i = 1; i < 200; i++) word(0xC00C), word(ANY), word(0x8001);
        break;
    case 4:  // Names that nobody has.
        begin(0x8400, 0, 8);
        for (int i = 0; i < 8; i++) {
            number = draw(NAMES);
            snprintf(type, sizeof type, "_flood-%u._tcp.local", number % 5000);
            snprintf(instance, sizeof instance, "Flood %u.%s", number, type);
            if (i % 2) pointer("_services._dns-sd._udp.local", type, 4500);
            else pointer(type, instance, 4500);
        }
        break;
    case 5:  // Half a service, somewhere else each time, for a second.
        begin(0x8400, 0, 3);
        pointer(type, instance, (int)draw(3));
        service(instance, host, (int)draw(65536), (int)draw(3));
        address(host, draw(0xFFFFFFFF), (int)draw(3));
        break;
    case 6:  // Goodbyes.
        begin(0x8400, 0, 2);
        pointer(type, instance, 0);
        service(instance, host, 1, 0);
        break;
    case 7: {  // A list of known answers that never ends.
        begin(0x0200, 1, 45);
        name("_services._dns-sd._udp.local");
        word(PTR), word(1);
        for (int i = 0; i < 45; i++) {
            snprintf(type, sizeof type, "_flood-%u", draw(5000));
            word(0xC00C);
            word(PTR), word(1), word(0), word(4500), word(0);
            int start = length;
            byte((int)strlen(type));
            memcpy(message + length, type, strlen(type));
            length += (int)strlen(type);
            word(0xC000 | 30);  // _udp.local of the question
            close_record(start);
        }
        break;
    }
    case 8:  // Questions from elsewhere, by unicast, from any port.
        begin(0, 2, 0);
        name("_services._dns-sd._udp.local");
        word(PTR), word(0x8001);
        name("bench-host.local");
        word(ANY), word(0x8001);
        spoofed = 0x08080808 + draw(1000);
        port = draw(2) ? 5353 : 1024 + (int)draw(60000);
        unicast = true;
        break;
    case 9:  // Answers from elsewhere, by unicast.
        begin(0x8400, 0, 2);
        pointer(type, instance, 4500);
        service(instance, host, 80, 4500);
        spoofed = 0x08080808;
        unicast = true;
        break;
    case 10: {  // Aliases in a knot, empty and overlong texts, bitmaps without windows.
        begin(0x8400, 0, 4);
        int start = record(host, CNAME, 0x8001, 120);
        name(host);
        close_record(start);
        start = record(instance, TXT, 0x8001, 120);
        for (int i = 0; i < 900; i++) byte(255);
        close_record(start);
        start = record(instance, NSEC, 0x8001, 120);
        byte(0), byte(0), byte(33), byte(1);
        close_record(start);
        address(host, 0, 0x7FFFFFFF);
        break;
    }
    default:  // Noise.
        begin((int)draw(65536), (int)draw(4), (int)draw(4));
        for (uint32_t i = draw(200); i > 0; i--) byte((int)draw(256));
    }
    transmit(spoofed, port, unicast);
}

static void announce(void) {
    const char *instance = "Bench service 00000._honest._tcp.local";
    begin(0x8400, 0, 4);
    pointer("_honest._tcp.local", instance, 4500);
    service(instance, "honest.local", 80, 120);
    int start = record(instance, TXT, 0x8001, 4500);
    byte(1), byte('x');
    close_record(start);
    address("honest.local", 0x0A4D0002, 120);
    transmit(0x0A4D0002, 5353, false);
}

static void count_received(void) {
    uint8_t frame[2048];
    struct sockaddr_ll from;
    socklen_t size = sizeof from;
    ssize_t count;
    while ((count = recvfrom(raw, frame, sizeof frame, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &size)) > 0) {
        if (from.sll_pkttype != PACKET_OUTGOING && count > 42 && frame[23] == IPPROTO_UDP && frame[34] == 5353 >> 8
            && frame[35] == (5353 & 0xFF))
            received_bytes += (uint64_t)(frame[16] << 8 | frame[17]);
        size = sizeof from;
    }
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: hostile INTERFACE RATE SECONDS\n");
        return 2;
    }
    int64_t rate = atoll(words[2]), duration = (int64_t)(atof(words[3]) * 1e9);
    interface_index = (int)if_nametoindex(words[1]);
    if (!interface_index) fail(words[1]);
    raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_IP));
    int room = 8 << 20, ignore = 1;
    struct sockaddr_ll here = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = interface_index};
    if (raw < 0 || bind(raw, (struct sockaddr *)&here, sizeof here) < 0) fail("packet socket");
    setsockopt(raw, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(raw, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore, sizeof ignore);
    int64_t start = now();
    for (int64_t due = 0, tried = 0; (due = now() - start) < duration;) {
        for (int64_t wanted = due * rate / 1000000000LL; tried < wanted; tried++) flood((int)(tried % KINDS));
        count_received();
        usleep(500);
    }
    printf("flooded %llu %llu %llu\n", (unsigned long long)sent_packets, (unsigned long long)sent_bytes,
           (unsigned long long)received_bytes);
    // What the flood left in the queue of the socket is lost to everybody: who comes afterwards comes after that.
    usleep(500000);
    announce();
    printf("announced %lld\n", (long long)now());
    fflush(stdout);
    for (;;) {
        struct pollfd watched[2] = {{raw, POLLIN, 0}, {0, POLLIN, 0}};
        if (poll(watched, 2, -1) < 0) fail("poll");
        count_received();
        char end;
        if (watched[1].revents && read(0, &end, 1) <= 0) break;
    }
    printf("end %llu %llu\n", (unsigned long long)sent_bytes, (unsigned long long)received_bytes);
    return 0;
}
