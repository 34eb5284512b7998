// The part of the protobuf wire format that the trace processor's remote procedure calls need.
// Integers are BigInt throughout, so that 64-bit values stay exact.
'use strict';

const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

function encodeVarint(value) {
  const out = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
  return Buffer.from(out);
}

const integerField = (field, value) => Buffer.concat([encodeVarint((field << 3) | VARINT), encodeVarint(value)]);

function bytesField(field, bytes) {
  return Buffer.concat([encodeVarint((field << 3) | BYTES), encodeVarint(bytes.length), bytes]);
}

/** Reads one varint; returns `[value, next]`, or null when `bytes` ends inside it. */
function decodeVarint(bytes, start) {
  let value = 0n, shift = 0n;
  for (let at = start; at < bytes.length; at++, shift += 7n) {
    value |= BigInt(bytes[at] & 127) << shift;
    if (bytes[at] < 128) return [value, at + 1];
  }
  return null;
}

/** Yields `[field, value]`: a BigInt for a varint, a Buffer for everything else. */
function* fields(message) {
  for (let at = 0; at < message.length;) {
    const [key, afterKey] = decodeVarint(message, at);
    const field = Number(key >> 3n), wire = Number(key & 7n);
    if (wire === VARINT) {
      const [value, next] = decodeVarint(message, afterKey);
      yield [field, value];
      at = next;
      continue;
    }
    const [size, start] = wire === BYTES ? decodeVarint(message, afterKey) : [{ [FIXED64]: 8, [FIXED32]: 4 }[wire], afterKey];
    if (size === undefined) throw new Error(`protobuf: field ${field} has unknown wire type ${wire}`);
    at = start + Number(size);
    yield [field, message.subarray(start, at)];
  }
}

/** The value of `field` in `message`, or undefined. */
function find(message, field) {
  for (const [candidate, value] of fields(message)) if (candidate === field) return value;
  return undefined;
}

/** The values of a repeated integer field, packed or single, as signed 64-bit integers. */
function* repeatedIntegers(value) {
  if (typeof value === 'bigint') return yield BigInt.asIntN(64, value);
  for (let at = 0; at < value.length;) {
    const [integer, next] = decodeVarint(value, at);
    yield BigInt.asIntN(64, integer);
    at = next;
  }
}

module.exports = { bytesField, decodeVarint, fields, find, integerField, repeatedIntegers };
