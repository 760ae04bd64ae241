/** Reads archives that another library writes, intact and damaged. */
import { zipSync } from 'fflate';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unzip } from '../../src/daml/zip.ts';
import { expectProperty } from '../support/chance/property.ts';

const all = (): boolean => true;

describe('unzip()', () => {
  it('returns the contents of any archive, stored or deflated', () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 0, max: 9 }).map((level) => new Uint8Array(5_000).fill(level)),
    );
    expectProperty(
      fc.property(
        fc.array(content, { maxLength: 6 }),
        fc.constantFrom(0 as const, 6 as const, 9 as const),
        (contents, level) => {
          const files = Object.fromEntries(contents.map((bytes, index) => [`files/ä-${String(index)}.dalf`, bytes]));
          const archive = zipSync(files, { level, comment: 'c' });
          expect(unzip(archive, all).map((bytes) => [...bytes])).toEqual(contents.map((bytes) => [...bytes]));
        },
      ),
      100,
    );
  });

  it('passes name and size of each entry, and returns only the selected entries', () => {
    const archive = zipSync({
      'a.txt': new Uint8Array(3),
      'b.dalf': new Uint8Array([1, 2]),
      'c.dalf': new Uint8Array(9),
    });
    const entries: [string, number][] = [];
    const contents = unzip(archive, ({ name, size }) => {
      entries.push([name, size]);
      return name === 'b.dalf';
    });
    expect(contents.map((bytes) => [...bytes])).toEqual([[1, 2]]);
    expect(entries).toEqual([
      ['a.txt', 3],
      ['b.dalf', 2],
      ['c.dalf', 9],
    ]);
  });

  it('rejects an entry that has more bytes than the directory states', () => {
    const archive = Buffer.from(zipSync({ 'a.dalf': new Uint8Array(100_000) }));
    const directory = archive.indexOf('PK\u0001\u0002', 0, 'latin1');
    archive.writeUInt32LE(10, directory + 24);
    expect(() => unzip(archive, all)).toThrow(/larger than 10 bytes/);
  });

  it('rejects a changed content', () => {
    const archive = Buffer.from(zipSync({ 'a.dalf': Buffer.from('content') }, { level: 0 }));
    archive.writeUInt8(archive.readUInt8(archive.indexOf('content')) ^ 1, archive.indexOf('content'));
    expect(() => unzip(archive, all)).toThrow('a.dalf is damaged');
  });

  it('rejects truncated archives and other files', () => {
    const archive = zipSync({ 'a.dalf': Buffer.from('some content') });
    for (let length = 0; length < archive.length; length += 1)
      expect(() => unzip(archive.subarray(0, length), all), String(length)).toThrow();
    expect(() => unzip(Buffer.from('no archive'), all)).toThrow('the end of the directory is missing');
  });
});
