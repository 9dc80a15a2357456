'use strict';
// The connection to the broker.

const { setTimeout: sleep } = require('node:timers/promises');

const mqtt = require('mqtt');

const log = require('./log');

const shortest = 500;
// The broker has a handful of clients of this kind, and until one is back nobody stores what devices send.
const longest = 5000;

class Broker {
  constructor(options) {
    this.options = options;
    this.client = null;
    this.pause = shortest;
    // Counts connections: what belongs to an earlier one must not be confirmed on the next.
    this.connection = 0;
    // What must also be in place before messages arrive, such as a subscription.
    this.subscribed = true;
    this.onConnect = () => {};
    this.onDisconnect = () => {};
    // Returns true if it will confirm the message itself, by confirm().
    this.onMessage = () => false;
  }

  start() {
    const { mqtt: to, receiveMaximum } = this.options;
    const client = mqtt.connect(to.url, {
      protocolVersion: 5,
      clientId: to.clientId,
      username: to.username,
      password: to.password,
      // The broker keeps what is not confirmed while this program is away.
      clean: false,
      properties: { sessionExpiryInterval: 24 * 60 * 60, receiveMaximum },
      resubscribe: false,
      keepalive: 20,
      connectTimeout: 10_000,
      reconnectPeriod: this.pause,
    });
    this.client = client;

    // mqtt.js would send the PUBACK now. An error in its place means: no PUBACK, go on reading. The
    // library offers nothing else for this, and test/broker.test.js checks that it stays so.
    client.handleMessage = (packet, done) => done(this.onMessage(packet, this.connection) ? new Error('confirmed later') : null);

    client.on('connect', () => {
      this.connection += 1;
      this.pause = shortest;
      client.options.reconnectPeriod = this.pause;
      log.info('connected to the broker');
      this.onConnect();
    });
    const lost = log.seldom('no connection to the broker');
    client.on('error', (error) => lost({ error: error.message || error.code }));
    client.on('close', () => {
      // Many clients that come back at the same moment are a load of their own: wait longer each time.
      this.pause = Math.min(longest, this.pause * 2);
      client.options.reconnectPeriod = Math.round(this.pause * (0.5 + Math.random() / 2));
      lost({});
      this.onDisconnect();
    });
  }

  get connected() {
    return this.client?.connected ?? false;
  }

  // Whether what devices send arrives here, and what is acknowledged arrives there.
  get ready() {
    return this.connected && this.subscribed;
  }

  // Sends the PUBACK of a message, if the connection that it came by still exists. Otherwise the
  // broker sends the message again.
  confirm(messageId, connection) {
    if (connection !== this.connection || !this.connected) return;
    this.client._sendPacket({ cmd: 'puback', messageId, reasonCode: 0 });
  }

  // Resolves when the broker has confirmed the acknowledgement.
  async acknowledge({ device, seq, time }) {
    await this.client.publishAsync(`acks/${device}`, JSON.stringify({ seq, time }), { qos: 1 });
  }

  async stop() {
    // What was not sent yet gets a moment. Without a connection it is lost, and repeated.
    if (this.connected) await Promise.race([this.client.endAsync(), sleep(2000)]);
    await this.client?.endAsync(true);
  }
}

module.exports = { Broker };
