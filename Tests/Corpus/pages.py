# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The host of the Internet: pages that answer as an anchor must. Usage: pages.py CERTIFICATE KEY"""
import http.server, socketserver, ssl, sys, threading


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(204 if self.path == "/generate_204" else 200)
        if challenge := self.headers["X-NWPath-Challenge"]:
            self.send_header("X-NWPath-Response", "response " + challenge)
        if self.path != "/generate_204":
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *words):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(*sys.argv[1:])
secure = Server(("0.0.0.0", 443), Page)
secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=secure.serve_forever, daemon=True).start()
Server(("0.0.0.0", 80), Page).serve_forever()
