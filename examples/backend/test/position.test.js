'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');

const { position } = require('../position');

const now = Date.parse('2026-11-22T12:00:00Z');
const good = { seq: 17, time: '2026-11-22T12:00:00.123Z', latitude: 47.2, longitude: -1.5 };
const read = (message, topic = 'positions/car-1') => position(topic, Buffer.from(JSON.stringify(message)), now);

test('a position is read, with or without speed', () => {
  assert.deepEqual(read(good), { device: 'car-1', speed: null, ...good });
  assert.equal(read({ ...good, speed: 3.5 }).speed, 3.5);
});

for (const [what, message, error] of [
  ['a negative seq', { ...good, seq: -1 }, /seq/],
  ['a broken seq', { ...good, seq: 1.5 }, /seq/],
  ['a seq that a number cannot hold', { ...good, seq: 2 ** 53 }, /seq/],
  ['a time without zone', { ...good, time: '2026-11-22T12:00:00' }, /time/],
  ['a time that is a number', { ...good, time: 1 }, /time/],
  ['a day that does not exist', { ...good, time: '2026-02-30T12:00:00Z' }, /exist/],
  ['an hour that does not exist', { ...good, time: '2026-02-20T25:00:00Z' }, /exist/],
  ['a time in the far future', { ...good, time: '2027-11-22T12:00:00Z' }, /ahead/],
  ['a time before GPS trackers', { ...good, time: '1970-01-01T00:00:00Z' }, /before/],
  ['a latitude beyond the pole', { ...good, latitude: 90.1 }, /latitude/],
  ['a longitude that is text', { ...good, longitude: '1' }, /longitude/],
  ['no longitude', { ...good, longitude: undefined }, /longitude/],
  ['a speed that is text', { ...good, speed: 'fast' }, /speed/],
  ['null', null, /object/],
]) {
  test(`${what} is refused`, () => assert.throws(() => read(message), error));
}

test('what is not JSON, too long or elsewhere is refused', () => {
  assert.throws(() => position('positions/a', Buffer.from('{'), now), /JSON/);
  assert.throws(() => position('positions/a', Buffer.alloc(5000, ' '), now), /bytes/);
  assert.throws(() => read(good, 'positions/a/b'), /topic/);
  assert.throws(() => read(good, `positions/${'a'.repeat(65)}`), /topic/);
  assert.throws(() => read(good, "positions/'; --"), /topic/);
});
