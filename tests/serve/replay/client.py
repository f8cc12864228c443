"""A connection to a server of Nomad's API: requests as recorded, answers in the recording's form."""
import http.client
import json
import threading
import urllib.parse

from compare import HEADERS


class Client:
    def __init__(self, url, timeout=60):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.timeout = parts.hostname, parts.port or 4646, timeout
        self.connection = None

    def request(self, method, path, body=None, text=None):
        """{status, headers, body | body_text}; a request that fails on the way has status 0."""
        data = text if text is not None else (json.dumps(body) if body is not None else None)
        for attempt in (1, 2):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
                self.connection.request(method, path, body=data.encode() if data is not None else None)
                answer = self.connection.getresponse()
                return read(answer, answer.read())
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if attempt == 2 or isinstance(error, TimeoutError):
                    return {"status": 0, "headers": {}, "body_text": f"no answer: {error!r}"}

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


NAMES = {name.lower(): name for name in HEADERS}


def named(headers):
    """Headers by the names of the recordings: their case says nothing."""
    return {NAMES.get(name.lower(), name): value for name, value in headers}


def read(answer, content):
    result = {"status": answer.status, "headers": named(answer.getheaders())}
    try:
        if "json" not in result["headers"].get("Content-Type", "json") or not content:
            raise ValueError
        result["body"] = json.loads(content)
    except ValueError:
        result["body_text"] = content.decode("utf-8", "replace")
    return result


class Stream(threading.Thread):
    """An event stream, read in the background until it is closed."""

    def __init__(self, url, path):
        super().__init__(daemon=True)
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self.path, self.frames, self.status, self.headers, self.text = path, [], 0, {}, None
        self.opened = threading.Event()
        self.start()

    def run(self):
        try:
            self.connection.request("GET", self.path)
            answer = self.connection.getresponse()
            self.status, self.headers = answer.status, named(answer.getheaders())
            self.opened.set()
            if self.status != 200:
                self.text = answer.read().decode("utf-8", "replace")
                return
            while line := answer.readline():
                if line.strip():
                    self.frames.append(json.loads(line))
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass  # closed, on purpose or by the server: what has arrived is compared
        finally:
            self.opened.set()

    def close(self):
        sock = self.connection.sock
        if sock is not None:
            try:
                sock.shutdown(2)
            except OSError:
                pass
        self.connection.close()
        self.join(5)
