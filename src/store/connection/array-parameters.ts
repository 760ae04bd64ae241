/**
 * Array parameters in the binary format. Values are written when the statement is sent; no intermediate text is built.
 * Source: Postgres documentation, "Message Data Types", and array_recv.
 */
import { types } from 'pg';
import type { Microseconds } from '../../model/binary-timestamp.ts';
import type { TextOrUtf8 } from '../../model/utf8.ts';
import type { EncodeBytes } from './round-trip.ts';

const { BYTEA, INT4, INT8, TEXT, TIMESTAMPTZ } = types.builtins;

/** Values that can be iterated more than once. */
type Values<T> = () => Iterable<T | null>;

/** A parameter of type text[]. */
export function textArray(values: Values<TextOrUtf8>): EncodeBytes {
  return (bytes) => {
    bytes.array(TEXT, values(), (value) => {
      bytes.text(value);
    });
  };
}

/** A parameter of type integer[]. */
export function int4Array(values: Values<number>): EncodeBytes {
  return (bytes) => {
    bytes.array(INT4, values(), (value) => {
      bytes.int32(4);
      bytes.int32(value);
    });
  };
}

/** A parameter of type bigint[]. */
export function int8Array(values: Values<number | bigint>): EncodeBytes {
  return eightBytes(INT8, values);
}

/** A parameter of type timestamptz[]. */
export function timestampArray(values: Values<Microseconds>): EncodeBytes {
  return eightBytes(TIMESTAMPTZ, values);
}

/**
 * A parameter of type bytea[] with ids, in the format that `id_text` reads. The caller has checked that each value is
 * an id.
 */
export function idArray(values: Values<string>): EncodeBytes {
  return (bytes) => {
    bytes.array(BYTEA, values(), (value) => {
      if (!bytes.id(value)) throw new TypeError('no id');
    });
  };
}

/** A parameter of type bytea[] with W3C traceparents, in the format that `trace_text` reads. */
export function traceArray(values: Values<string>): EncodeBytes {
  return (bytes) => {
    bytes.array(BYTEA, values(), (value) => {
      bytes.trace(value);
    });
  };
}

function eightBytes(oid: number, values: Values<number | bigint>): EncodeBytes {
  return (bytes) => {
    bytes.array(oid, values(), (value) => {
      bytes.int32(8);
      bytes.int64(value);
    });
  };
}
