import http.server
import json


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        alert = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("got", "w", encoding="utf-8") as file:
            print(self.headers["Content-Type"], alert["rule"], alert["entry"], alert["job"], file=file)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w", encoding="utf-8") as file:
    print(server.server_port, file=file)
__import__("os").rename("port.new", "port")
server.timeout = 20
server.handle_request()
