'use strict';
// With EMQX: acknowledges to the devices what the broker's rule has stored.

const log = require('./log');

const most = 1000;

class Notices {
  constructor({ broker }) {
    this.broker = broker;
    this.pending = 0;
    this.dropped = log.seldom('an acknowledgement was dropped');
  }

  // An acknowledgement that is lost or dropped costs a repeat: the device sends the position again,
  // and the trigger announces it again.
  async acknowledge(position) {
    if (this.pending >= most || !this.broker.connected) {
      this.dropped({ device: position.device });
      return;
    }
    this.pending += 1;
    try {
      await this.broker.acknowledge(position);
    } catch (error) {
      this.dropped({ device: position.device, error: error.message });
    } finally {
      this.pending -= 1;
    }
  }
}

module.exports = { Notices };
