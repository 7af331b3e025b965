# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Takes what Alertmanager posts to port 5001 and appends it to a file, one body a line. Usage: webhook.py FILE"""
import http.server
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1], "ab") as file:
            file.write(body.replace(b"\n", b" ") + b"\n")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", 5001), Handler).serve_forever()
