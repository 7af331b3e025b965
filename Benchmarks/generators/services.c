// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
//
// services INTERFACE SERVICES HOSTS TYPES ADDITIONALS(0|1) LOSS(percent) SEED
//
// Plays hosts that offer services by multicast DNS (RFC 6762) to whoever asks at the other end of a veth pair. Every
// host has an address of its own. Shared answers and answers to several questions leave after uniform 20 to 120 ms,
// a unique answer to one question within 10 ms; after a truncated query a host waits 400 to 500 ms for the rest of
// the known answers; a record is multicast once per second at most; what fits of SRV, TXT and A comes along. LOSS is
// applied to each packet on its way to each host, and again to each answer. Hosts do not drop answers that others
// just gave, so each of them lists its types.
//
// It prints "ready", ends with its standard input, and then prints a line for each packet that was on the wire:
// CLOCK_MONOTONIC in ns, "q" (from the asker) or "r", and the bytes of the IP packet. Lost answers are on no line.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SERVICES = 10000, MOST_HOSTS = 1000, MOST_TYPES = 200, PAYLOAD = 1472, MOST_PARTS = 256 };
enum { A = 1, PTR = 12, TXT = 16, AAAA = 28, SRV = 33, NSEC = 47, ANY = 255 };

static int services, hosts, types;
static bool additionals;
static double loss;
static int raw, interface_index;
static uint64_t state;

static void fail(const char *what) {
    fprintf(stderr, "services: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static uint64_t next_random(void) {
    uint64_t value = state += 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
}

static double uniform(double low, double high) { return low + (high - low) * (next_random() >> 11) / (double)(1ULL << 53); }
static bool is_lost(void) { return loss > 0 && uniform(0, 100) < loss; }
static int64_t milliseconds(double low, double high) { return (int64_t)(uniform(low, high) * 1e6); }

// Service s runs on host s % hosts; a host's services are of different types.
static int host_of(int service) { return service % hosts; }
static int type_of(int service) { return (service / hosts + service % hosts) % types; }
static uint32_t address_of(int host) { return 0x0A4D0000u + 256 + (uint32_t)host; }

// ---- What went over the wire

struct line {
    int64_t time;
    int bytes;
    char direction;
};
static struct line *lines;
static size_t line_count, line_room;

static void note(char direction, int bytes) {
    if (line_count == line_room) {
        line_room = line_room ? line_room * 2 : 4096;
        if (!(lines = realloc(lines, line_room * sizeof *lines))) fail("memory");
    }
    lines[line_count++] = (struct line){now(), bytes, direction};
}

// ---- Records: an answer is a kind and a number

enum kind { ENUMERATION, POINTER, LOCATION, TEXT, ADDRESS, DENIAL, KINDS };
struct answer {
    enum kind kind;
    int number;  // service, host, or host * types + type for ENUMERATION
};
static int64_t *last_multicast[KINDS];

static int64_t *last_of(struct answer answer) { return &last_multicast[answer.kind][answer.number]; }
static double lifetime(enum kind kind) { return kind == LOCATION || kind == ADDRESS || kind == DENIAL ? 120 : 4500; }

// ---- Writing a response

struct writer {
    uint8_t bytes[PAYLOAD + 1024];
    int length;
    int counts[4];
    int local, tcp, enumeration, host;  // offsets of names written already; 0 is none
    int type[MOST_TYPES];
    int instance_count;
    struct { int service, offset; } instances[512];
};

static void put16(struct writer *w, int value) {
    w->bytes[w->length++] = (uint8_t)(value >> 8);
    w->bytes[w->length++] = (uint8_t)value;
}

static void put_label(struct writer *w, const char *text) {
    size_t length = strlen(text);
    w->bytes[w->length++] = (uint8_t)length;
    memcpy(w->bytes + w->length, text, length);
    w->length += (int)length;
}

/// Writes a pointer to a name that is there already; otherwise remembers that it begins here.
static bool point(struct writer *w, int *offset) {
    if (*offset) {
        put16(w, 0xC000 | *offset);
        return true;
    }
    *offset = w->length;
    return false;
}

static void put_local(struct writer *w) {
    if (point(w, &w->local)) return;
    put_label(w, "local");
    w->bytes[w->length++] = 0;
}

static void put_type(struct writer *w, int type) {
    if (point(w, &w->type[type])) return;
    char text[32];
    snprintf(text, sizeof text, "_bench-%03d", type);
    put_label(w, text);
    if (point(w, &w->tcp)) return;
    put_label(w, "_tcp");
    put_local(w);
}

static void put_enumeration(struct writer *w) {
    if (point(w, &w->enumeration)) return;
    put_label(w, "_services");
    put_label(w, "_dns-sd");
    put_label(w, "_udp");
    put_local(w);
}

static void put_host(struct writer *w, int host) {
    if (point(w, &w->host)) return;
    char text[32];
    snprintf(text, sizeof text, "machine-%04d", host);
    put_label(w, text);
    put_local(w);
}

static void put_instance(struct writer *w, int service) {
    for (int i = 0; i < w->instance_count; i++) {
        if (w->instances[i].service != service) continue;
        put16(w, 0xC000 | w->instances[i].offset);
        return;
    }
    if (w->instance_count < 512) {
        w->instances[w->instance_count].service = service;
        w->instances[w->instance_count++].offset = w->length;
    }
    char text[32];
    snprintf(text, sizeof text, "Bench service %05d", service);
    put_label(w, text);
    put_type(w, type_of(service));
}

static void put_text(struct writer *w, int service) {
    char text[64];
    snprintf(text, sizeof text, "id=%05d", service);
    put_label(w, "txtvers=1");
    put_label(w, text);
    put_label(w, "model=Simulated 3000");
    put_label(w, "location=second floor, room 217");
    put_label(w, "secure=true");
}

static void start(struct writer *w) {
    memset(w, 0, sizeof *w);
    w->length = 12;
}

/// Adds an answer to section 1 or 3; false, and nothing is added, when it does not fit.
static bool put(struct writer *w, struct answer answer, int section) {
    struct writer saved;
    memcpy(&saved, w, sizeof saved);
    static const int kinds[KINDS] = {PTR, PTR, SRV, TXT, A, NSEC};
    int n = answer.number;
    int host = answer.kind == ADDRESS || answer.kind == DENIAL ? n : answer.kind == ENUMERATION ? n / types : host_of(n);
    switch (answer.kind) {
    case ENUMERATION: put_enumeration(w); break;
    case POINTER: put_type(w, type_of(n)); break;
    case LOCATION: case TEXT: put_instance(w, n); break;
    default: put_host(w, host);
    }
    put16(w, kinds[answer.kind]);
    put16(w, answer.kind == ENUMERATION || answer.kind == POINTER ? 1 : 0x8001);
    put16(w, 0);
    put16(w, (int)lifetime(answer.kind));
    int length_at = w->length;
    put16(w, 0);
    switch (answer.kind) {
    case ENUMERATION: put_type(w, n % types); break;
    case POINTER: put_instance(w, n); break;
    case LOCATION:
        put16(w, 0);
        put16(w, 0);
        put16(w, 1024 + n);
        put_host(w, host);
        break;
    case TEXT: put_text(w, n); break;
    case ADDRESS:
        put16(w, (int)(address_of(n) >> 16));
        put16(w, (int)(address_of(n) & 0xFFFF));
        break;
    case DENIAL:
        put_host(w, host);
        w->bytes[w->length++] = 0;
        w->bytes[w->length++] = 1;
        w->bytes[w->length++] = 0x40;  // A
        break;
    default: break;
    }
    int data = w->length - length_at - 2;
    w->bytes[length_at] = (uint8_t)(data >> 8);
    w->bytes[length_at + 1] = (uint8_t)data;
    if (w->length > PAYLOAD) {
        memcpy(w, &saved, sizeof saved);
        return false;
    }
    w->counts[section]++;
    return true;
}

static uint8_t asker_mac[6];
static uint32_t asker_address;

static void transmit(struct writer *w, int host, bool unicast) {
    if (w->counts[1] == 0) return;
    uint8_t *head = w->bytes;
    memset(head, 0, 12);
    head[2] = 0x84;
    for (int i = 0; i < 4; i++) {
        head[4 + 2 * i] = (uint8_t)(w->counts[i] >> 8);
        head[5 + 2 * i] = (uint8_t)w->counts[i];
    }
    uint8_t frame[14 + 28 + sizeof w->bytes];
    static const uint8_t group[6] = {0x01, 0x00, 0x5E, 0x00, 0x00, 0xFB};
    memcpy(frame, unicast ? asker_mac : group, 6);
    uint8_t own[6] = {0x02, 0x4D, 0, 0, (uint8_t)(host >> 8), (uint8_t)host};
    memcpy(frame + 6, own, 6);
    frame[12] = 0x08;
    frame[13] = 0x00;
    struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 255, .protocol = IPPROTO_UDP};
    ip.tot_len = htons((uint16_t)(28 + w->length));
    ip.saddr = htonl(address_of(host));
    ip.daddr = unicast ? asker_address : htonl(0xE00000FB);
    uint32_t sum = 0;
    uint16_t words[10];
    memcpy(words, &ip, 20);
    for (int i = 0; i < 10; i++) sum += words[i];
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    ip.check = (uint16_t)~sum;
    // A UDP checksum of 0 is none (RFC 768).
    struct udphdr udp = {.source = htons(5353), .dest = htons(5353), .len = htons((uint16_t)(8 + w->length))};
    memcpy(frame + 14, &ip, 20);
    memcpy(frame + 34, &udp, 8);
    memcpy(frame + 42, w->bytes, (size_t)w->length);
    if (is_lost()) return;
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = interface_index, .sll_halen = 6};
    if (sendto(raw, frame, (size_t)(42 + w->length), 0, (struct sockaddr *)&to, sizeof to) < 0 && errno != ENOBUFS)
        fail("send");
    note('r', 28 + w->length);
}

// ---- What each host is going to say

struct job {
    int64_t due;
    int host, count;
    bool unicast;
    struct answer *answers;
};
static struct job *jobs;
static size_t job_count, job_room;

static void plan(struct job job) {
    if (job_count == job_room) {
        job_room = job_room ? job_room * 2 : 1024;
        if (!(jobs = realloc(jobs, job_room * sizeof *jobs))) fail("memory");
    }
    size_t i = job_count++;
    while (i > 0 && jobs[(i - 1) / 2].due > job.due) {
        jobs[i] = jobs[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    jobs[i] = job;
}

static struct job take(void) {
    struct job first = jobs[0], last = jobs[--job_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= job_count) break;
        if (child + 1 < job_count && jobs[child + 1].due < jobs[child].due) child++;
        if (last.due <= jobs[child].due) break;
        jobs[i] = jobs[child];
        i = child;
    }
    if (job_count) jobs[i] = last;
    return first;
}

/// Whether a record may be sent now: by multicast once per second.
static bool may_send(struct answer answer, bool unicast, int64_t time) {
    int64_t last = *last_of(answer);
    return unicast || last == 0 || time - last >= 1000000000LL;
}

static void sent(struct answer answer, bool unicast, int64_t time) {
    if (!unicast) *last_of(answer) = time;
}

static void add_additional(struct writer *w, struct answer answer, bool unicast, int64_t time) {
    if (may_send(answer, unicast, time) && put(w, answer, 3)) sent(answer, unicast, time);
}

static void say(struct job *job) {
    int64_t time = now();
    static struct writer w;
    start(&w);
    bool needs_address = false;
    static struct answer said[MOST_SERVICES];
    int count = 0;
    for (int i = 0; i < job->count; i++) {
        struct answer answer = job->answers[i];
        if (!may_send(answer, job->unicast, time)) continue;
        if (!put(&w, answer, 1)) {
            transmit(&w, job->host, job->unicast);
            start(&w);
            put(&w, answer, 1);
        }
        sent(answer, job->unicast, time);
        if (count < MOST_SERVICES) said[count++] = answer;
        needs_address |= answer.kind == POINTER || answer.kind == LOCATION;
    }
    if (additionals && count > 0) {
        if (needs_address) add_additional(&w, (struct answer){ADDRESS, job->host}, job->unicast, time);
        for (int i = 0; i < count; i++) {
            if (said[i].kind == POINTER) {
                add_additional(&w, (struct answer){LOCATION, said[i].number}, job->unicast, time);
                add_additional(&w, (struct answer){TEXT, said[i].number}, job->unicast, time);
            }
            if (said[i].kind == ADDRESS) add_additional(&w, (struct answer){DENIAL, job->host}, job->unicast, time);
        }
    }
    transmit(&w, job->host, job->unicast);
    free(job->answers);
}

// ---- Reading queries

struct name {
    int count;
    char labels[8][64];
};

static int read_name(const uint8_t *bytes, int length, int at, struct name *name) {
    int end = -1, jumps = 0;
    name->count = 0;
    for (;;) {
        if (at >= length) return -1;
        int size = bytes[at];
        if (size >= 0xC0) {
            if (at + 1 >= length || ++jumps > 20) return -1;
            if (end < 0) end = at + 2;
            at = (size & 0x3F) << 8 | bytes[at + 1];
            continue;
        }
        if (size == 0) return end < 0 ? at + 1 : end;
        if (size > 63 || at + 1 + size > length || name->count == 8) return -1;
        memcpy(name->labels[name->count], bytes + at + 1, (size_t)size);
        name->labels[name->count++][size] = 0;
        at += 1 + size;
    }
}

static int number(const char *label, const char *prefix, int limit) {
    size_t length = strlen(prefix);
    if (strncasecmp(label, prefix, length) != 0) return -1;
    char *end;
    long value = strtol(label + length, &end, 10);
    return *end || end == label + length || value < 0 || value >= limit ? -1 : (int)value;
}

static bool is_tcp(const struct name *n, int from) {
    return n->count == from + 2 && !strcasecmp(n->labels[from], "_tcp") && !strcasecmp(n->labels[from + 1], "local");
}
static int as_type(const struct name *n) { return is_tcp(n, 1) ? number(n->labels[0], "_bench-", types) : -1; }
static int as_host(const struct name *n) {
    return n->count == 2 && !strcasecmp(n->labels[1], "local") ? number(n->labels[0], "machine-", hosts) : -1;
}
static int as_service(const struct name *n) {
    if (!is_tcp(n, 2)) return -1;
    int service = number(n->labels[0], "Bench service ", services);
    return service >= 0 && number(n->labels[1], "_bench-", types) == type_of(service) ? service : -1;
}
static bool is_enumeration(const struct name *n) {
    return n->count == 4 && !strcasecmp(n->labels[0], "_services") && !strcasecmp(n->labels[1], "_dns-sd");
}

/// A query, with all packets of its known answers; which host got which packet is drawn when it arrives.
struct part {
    uint8_t bytes[9000];
    int length;
    uint8_t reached[MOST_HOSTS];
};
static struct part *parts;
static int part_count;
static int64_t patience_until;

struct want {
    struct answer answer;
    bool unicast;
};
static struct want *wanted[MOST_HOSTS];
static int wanted_count[MOST_HOSTS], wanted_room[MOST_HOSTS], question_count[MOST_HOSTS];

static void want(int host, enum kind kind, int n, bool unicast) {
    for (int i = wanted_count[host] - 1; i >= 0; i--)
        if (wanted[host][i].answer.kind == kind && wanted[host][i].answer.number == n) return;
    if (wanted_count[host] == wanted_room[host]) {
        wanted_room[host] = wanted_room[host] ? wanted_room[host] * 2 : 32;
        if (!(wanted[host] = realloc(wanted[host], (size_t)wanted_room[host] * sizeof **wanted))) fail("memory");
    }
    wanted[host][wanted_count[host]++] = (struct want){{kind, n}, unicast};
}

static void unwant(int host, enum kind kind, int n) {
    for (int i = 0; i < wanted_count[host]; i++)
        if (wanted[host][i].answer.kind == kind && wanted[host][i].answer.number == n)
            wanted[host][i--] = wanted[host][--wanted_count[host]];
}

static void ask(const struct part *part, const struct name *n, int type, bool unicast) {
    int t = as_type(n), h = as_host(n), s = as_service(n);
    bool pointers = type == PTR || type == ANY;
    if (is_enumeration(n) && pointers) {
        for (int service = 0; service < services; service++) {
            int host = host_of(service);
            if (!part->reached[host]) continue;
            want(host, ENUMERATION, host * types + type_of(service), unicast);
        }
    } else if (t >= 0 && pointers) {
        for (int service = 0; service < services; service++) {
            if (type_of(service) == t && part->reached[host_of(service)]) want(host_of(service), POINTER, service, unicast);
        }
    } else if (s >= 0 && part->reached[host_of(s)]) {
        if (type == SRV || type == ANY) want(host_of(s), LOCATION, s, unicast);
        if (type == TXT || type == ANY) want(host_of(s), TEXT, s, unicast);
    } else if (h >= 0 && part->reached[h]) {
        if (type == A || type == ANY) want(h, ADDRESS, h, unicast);
        if (type == AAAA) want(h, DENIAL, h, unicast);
    }
}

static int get16(const uint8_t *bytes) { return bytes[0] << 8 | bytes[1]; }

/// Drops what the asker knows, if it has at least half its life left.
static void suppress(const struct part *part) {
    int at = 12;
    static struct name name, target;
    for (int i = get16(part->bytes + 4); i > 0; i--) {
        at = read_name(part->bytes, part->length, at, &name);
        if (at < 0 || (at += 4) > part->length) return;
    }
    for (int i = get16(part->bytes + 6); i > 0; i--) {
        at = read_name(part->bytes, part->length, at, &name);
        if (at < 0 || at + 10 > part->length) return;
        int type = get16(part->bytes + at), size = get16(part->bytes + at + 8);
        double left = get16(part->bytes + at + 4) * 65536.0 + get16(part->bytes + at + 6);
        at += 10;
        if (at + size > part->length) return;
        if (type == PTR && left * 2 >= lifetime(POINTER) && read_name(part->bytes, part->length, at, &target) > 0) {
            int s = as_service(&target), t = as_type(&target);
            if (s >= 0 && as_type(&name) == type_of(s) && part->reached[host_of(s)]) unwant(host_of(s), POINTER, s);
            if (t >= 0 && is_enumeration(&name))
                for (int host = 0; host < hosts; host++)
                    if (part->reached[host]) unwant(host, ENUMERATION, host * types + t);
        } else if (type == SRV && left * 2 >= lifetime(LOCATION)) {
            int s = as_service(&name);
            if (s >= 0 && part->reached[host_of(s)]) unwant(host_of(s), LOCATION, s);
        } else if (type == TXT && left * 2 >= lifetime(TEXT)) {
            int s = as_service(&name);
            if (s >= 0 && part->reached[host_of(s)]) unwant(host_of(s), TEXT, s);
        } else if (type == A && left * 2 >= lifetime(ADDRESS)) {
            int h = as_host(&name);
            if (h >= 0 && part->reached[h]) unwant(h, ADDRESS, h);
        }
        at += size;
    }
}

/// Works out what every host answers to the query that is complete now.
static void answer_query(bool was_truncated) {
    static struct name name;
    for (int host = 0; host < hosts; host++) wanted_count[host] = question_count[host] = 0;
    for (int p = 0; p < part_count; p++) {
        const struct part *part = &parts[p];
        int at = 12, questions = get16(part->bytes + 4);
        for (int i = 0; i < questions; i++) {
            at = read_name(part->bytes, part->length, at, &name);
            if (at < 0 || at + 4 > part->length) break;
            ask(part, &name, get16(part->bytes + at), part->bytes[at + 2] & 0x80);
            at += 4;
        }
        for (int host = 0; host < hosts; host++)
            if (part->reached[host]) question_count[host] += questions;
    }
    for (int p = 0; p < part_count; p++) suppress(&parts[p]);
    int64_t time = now();
    for (int host = 0; host < hosts; host++) {
        if (wanted_count[host] == 0) continue;
        bool shared = question_count[host] > 1;
        struct job job[2] = {{.host = host}, {.host = host, .unicast = true}};
        for (int i = 0; i < wanted_count[host]; i++) {
            struct want each = wanted[host][i];
            shared |= each.answer.kind == ENUMERATION || each.answer.kind == POINTER;
            // A unicast answer is right only for what was multicast within a quarter of its life.
            int64_t last = *last_of(each.answer);
            bool unicast = each.unicast && last && time - last < lifetime(each.answer.kind) * 0.25e9;
            struct job *mine = &job[unicast];
            if (!mine->answers && !(mine->answers = malloc((size_t)wanted_count[host] * sizeof *mine->answers)))
                fail("memory");
            mine->answers[mine->count++] = each.answer;
        }
        for (int i = 0; i < 2; i++) {
            if (!job[i].count) continue;
            // After a truncated query the wait is over already.
            job[i].due = time + (was_truncated ? milliseconds(0, 100) : shared ? milliseconds(20, 120) : milliseconds(0, 10));
            plan(job[i]);
        }
    }
    part_count = 0;
    patience_until = 0;
}

static void receive(void) {
    static uint8_t frame[9100];
    for (;;) {
        struct sockaddr_ll from;
        socklen_t size = sizeof from;
        ssize_t count = recvfrom(raw, frame, sizeof frame, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
        if (count < 0) return;
        if (from.sll_pkttype == PACKET_OUTGOING || count < 42 || get16(frame + 12) != 0x0800) continue;
        struct iphdr ip;
        memcpy(&ip, frame + 14, sizeof ip);
        int head = 14 + ip.ihl * 4;
        if (ip.protocol != IPPROTO_UDP || head + 8 + 12 > count) continue;
        if (get16(frame + head) != 5353 || get16(frame + head + 2) != 5353) continue;
        int length = get16(frame + head + 4) - 8;
        if (length < 12 || head + 8 + length > count || length > 9000) continue;
        note('q', ntohs(ip.tot_len));
        const uint8_t *bytes = frame + head + 8;
        if (bytes[2] & 0x80) continue;
        memcpy(asker_mac, frame + 6, 6);
        asker_address = ip.saddr;
        // A packet with questions begins a query of its own.
        if (part_count > 0 && get16(bytes + 4) > 0) answer_query(true);
        if (part_count == MOST_PARTS) answer_query(true);
        struct part *part = &parts[part_count++];
        memcpy(part->bytes, bytes, (size_t)length);
        part->length = length;
        for (int host = 0; host < hosts; host++) part->reached[host] = !is_lost();
        if (bytes[2] & 0x02) patience_until = now() + 400000000LL;
        else if (part_count == 1) answer_query(false);
    }
}

int main(int count, char **words) {
    if (count != 8) {
        fprintf(stderr, "usage: services INTERFACE SERVICES HOSTS TYPES ADDITIONALS LOSS SEED\n");
        return 2;
    }
    services = atoi(words[2]);
    hosts = atoi(words[3]);
    types = atoi(words[4]);
    additionals = atoi(words[5]);
    loss = atof(words[6]);
    state = strtoull(words[7], NULL, 10);
    if (services < 1 || services > MOST_SERVICES || hosts < 1 || hosts > MOST_HOSTS || types < 1 || types > MOST_TYPES
        || loss < 0 || loss > 90)
        return fprintf(stderr, "services: a number is out of range\n"), 2;
    int numbers[KINDS] = {hosts * types, services, services, services, hosts, hosts};
    for (int i = 0; i < KINDS; i++)
        if (!(last_multicast[i] = calloc((size_t)numbers[i], sizeof(int64_t)))) fail("memory");
    if (!(parts = calloc(MOST_PARTS, sizeof *parts))) fail("memory");
    interface_index = (int)if_nametoindex(words[1]);
    if (!interface_index) fail(words[1]);
    raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_IP));
    int room = 8 << 20;
    struct sockaddr_ll here = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = interface_index};
    if (raw < 0 || bind(raw, (struct sockaddr *)&here, sizeof here) < 0) fail("packet socket");
    setsockopt(raw, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t time = now(), due = time + 1000000000LL;
        if (part_count > 0 && patience_until <= time) answer_query(true);
        while (job_count > 0 && jobs[0].due <= time) {
            struct job job = take();
            say(&job);
        }
        if (job_count > 0 && jobs[0].due < due) due = jobs[0].due;
        if (part_count > 0 && patience_until < due) due = patience_until;
        int64_t rest = due - now();
        if (rest < 0) rest = 0;
        struct timespec wait = {rest / 1000000000LL, rest % 1000000000LL};
        struct pollfd watched[2] = {{raw, POLLIN, 0}, {0, POLLIN, 0}};
        if (ppoll(watched, 2, &wait, NULL) < 0) fail("poll");
        if (watched[0].revents) receive();
        if (watched[1].revents) {
            char byte;
            if (read(0, &byte, 1) <= 0) break;
        }
    }
    for (size_t i = 0; i < line_count; i++)
        printf("%lld %c %d\n", (long long)lines[i].time, lines[i].direction, lines[i].bytes);
    return 0;
}
