# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Forwards DNS to 127.0.0.1:5300, each answer late while a file exists: ADDRESS FILE."""
import os, socket, socketserver, sys, threading, time

address, late = sys.argv[1:]
upstream = ("127.0.0.1", 5300)


def wait():
    time.sleep(0.35 if os.path.exists(late) else 0)


class Datagrams(socketserver.BaseRequestHandler):
    def handle(self):
        query, listener = self.request
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.settimeout(5)
            peer.sendto(query, upstream)
            try:
                answer = peer.recv(65535)
            except OSError:
                return
        wait()
        listener.sendto(answer, self.client_address)


class Streams(socketserver.BaseRequestHandler):
    def handle(self):
        with socket.create_connection(upstream, 5) as peer:
            threading.Thread(target=self.copy, args=(peer, self.request), daemon=True).start()
            self.copy(self.request, peer)

    @staticmethod
    def copy(source, target):
        try:
            while data := source.recv(65535):
                wait()
                target.sendall(data)
        except OSError:
            pass


socketserver.ThreadingUDPServer.allow_reuse_address = socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingUDPServer.daemon_threads = socketserver.ThreadingTCPServer.daemon_threads = True
streams = socketserver.ThreadingTCPServer((address, 53), Streams)
threading.Thread(target=streams.serve_forever, daemon=True).start()
socketserver.ThreadingUDPServer((address, 53), Datagrams).serve_forever()
