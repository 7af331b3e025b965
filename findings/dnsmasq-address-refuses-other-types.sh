#!/usr/bin/env bash
# dnsmasq 2.90 (Debian 12, dnsmasq-base 2.90-4~deb12u2): a name that `address=` gives an IPv4 address is found by type A
# alone. Queries of all other types for the same name go to an upstream, and without one they are REFUSED: the server
# finds a name and refuses it at the same time, so that neither answer says whether it works. A getaddrinfo(3) that sends
# A and AAAA gets both. With `local=` for the domain the other types are NOERROR without records.
#
# Seen: A NOERROR 192.0.2.99, AAAA REFUSED, NS REFUSED; with local=: A NOERROR 192.0.2.99, AAAA NOERROR, NS NOERROR
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in dnsmasq-base=2.90-4~deb12u2 libdbus-1-3 libidn2-0 libnettle8 libhogweed6 libgmp10 libnetfilter-conntrack3 \
    libmnl0 libnfnetlink0 libunistring2 libsystemd0 libnftables1 libnftnl11 libjansson4 libxtables12; do
    apt-get download "$package" >/dev/null 2>&1
done
for file in *.deb; do dpkg-deb -x "$file" root; done

cat >ask.py <<'PYTHON'
import socket, struct
codes = {0: "NOERROR", 3: "NXDOMAIN", 5: "REFUSED"}
seen = []
for word, number in (("A", 1), ("AAAA", 28), ("NS", 2)):
    query = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + b"\x07example\x03com\0" + struct.pack("!2H", number, 1)
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(2)
    client.sendto(query, ("127.0.0.1", 53))
    answer = client.recv(512)
    count = struct.unpack("!H", answer[6:8])[0]
    seen.append(" ".join([word, codes.get(answer[3] & 15, "?")] + ([socket.inet_ntoa(answer[-4:])] if count else [])))
print(", ".join(seen))
PYTHON

cat >run.sh <<'SHELL'
ip link set lo up
for more in "" --local=/example.com/; do
    LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu root/usr/sbin/dnsmasq --no-daemon \
        --conf-file=/dev/null --no-hosts --no-resolv --pid-file= --listen-address=127.0.0.1 \
        --bind-interfaces --address=/example.com/192.0.2.99 $more 2>log &
    for _ in 1 2 3 4 5 6 7 8 9 10; do ss -Hlun | grep -q 127.0.0.1:53 && break; sleep 0.2; done
    python3 ask.py
    kill $!
    wait $! || true
done
SHELL
seen=$(unshare --user --map-root-user --net bash run.sh | paste -sd';' | sed 's/;/; with local=: /')
echo "$seen"
[ "$seen" = "A NOERROR 192.0.2.99, AAAA REFUSED, NS REFUSED; with local=: A NOERROR 192.0.2.99, AAAA NOERROR, NS NOERROR" ]
