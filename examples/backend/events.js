'use strict';
// Server-sent events: each new position to everyone who listens.

const most = 500;
// A client that reads slower than positions come is cut off; browsers connect again by themselves.
const behind = 256 * 1024;

class EventStreams {
  constructor() {
    this.responses = new Set();
    this.beat = setInterval(() => this.write(':\n\n'), 15_000).unref();
  }

  // Returns false if there are too many already.
  add(response) {
    if (this.responses.size >= most) return false;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('retry: 3000\n\n');
    this.responses.add(response);
    response.on('close', () => this.responses.delete(response));
    response.on('error', () => this.responses.delete(response));
    return true;
  }

  send(position) {
    if (this.responses.size > 0) this.write(`event: position\ndata: ${JSON.stringify(position)}\n\n`);
  }

  write(text) {
    for (const response of this.responses) {
      if (response.writableLength > behind) response.destroy();
      else response.write(text);
    }
  }

  end() {
    clearInterval(this.beat);
    for (const response of this.responses) response.end();
  }
}

module.exports = { EventStreams };
