/** DARs that no compiler creates. The sandbox refuses each quickly with an error code of the participant. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { zipSync } from 'fflate';
import { array, asyncProperty, boolean, nat, tuple, uint8Array } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readArchive } from '../../src/packages/archive.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { darOf, darOfPackage, manifestOf, sealArchive } from './dars.ts';
import { valueAt } from '../server/sockets.ts';
import { expectProperty } from '../../../../test/support/chance/property.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 3 });
});
afterAll(() => sandbox.close());

async function uploadDar(bytes: Uint8Array): Promise<readonly unknown[]> {
  const response = await fetch(`${sandbox.url}/v2/dars`, { method: 'POST', body: Buffer.from(bytes) });
  const body: unknown = await response.json();
  return [response.status, valueAt(body, 'code')];
}

const validDar = darOfPackage({ name: 'harbor', version: '1.0.0', templates: ['Note'] });

describe('a DAR', () => {
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'whose archive is named %s is refused',
    async (name) => {
      const dar = zipSync({ 'META-INF/MANIFEST.MF': Buffer.from(manifestOf([name])) });
      expect(await uploadDar(dar)).toEqual([400, 'INVALID_ZIP_ENTRY']);
    },
  );

  it('with any bytes changed or truncated is accepted or refused, without an internal error', async () => {
    await expectProperty(
      asyncProperty(
        array(tuple(nat(validDar.length - 1), nat(255)), { maxLength: 6 }),
        nat(validDar.length),
        async (changes, length) => {
          const bytes = Buffer.from(validDar);
          for (const [index, value] of changes) bytes[index] = value;
          const [status] = await uploadDar(bytes.subarray(0, Math.max(1, length % 3 === 0 ? length : bytes.length)));
          expect([200, 400]).toContain(status);
        },
      ),
      300,
    );
  });

  it('with an archive of any bytes is accepted or refused, without an internal error', async () => {
    await expectProperty(
      asyncProperty(uint8Array({ maxLength: 200 }), boolean(), async (bytes, seal) => {
        const [status] = await uploadDar(darOf({ 'a.dalf': seal ? sealArchive(bytes) : bytes }));
        expect(status).toBe(400);
      }),
      200,
    );
  });

  it('in which a few bytes refer to many names is refused before the names are expanded', () => {
    const text = (field: number, content: string): Uint8Array =>
      new BinaryWriter().tag(field, WireType.LengthDelimited).string(content).finish();
    const bytes = (field: number, content: Uint8Array): Uint8Array =>
      new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(content).finish();
    const longText = text(2, 'x'.repeat(100_000));
    const segments = new BinaryWriter();
    for (let count = 0; count < 1_000; count += 1) segments.int32(0);
    const dottedTable = bytes(3, bytes(1, segments.finish()));
    const templates = Array.from({ length: 2_000 }, () => bytes(6, new Uint8Array()));
    const module = bytes(1, Buffer.concat(templates));
    const body = Buffer.concat([module, longText, dottedTable, bytes(4, new Uint8Array())]);
    const cpuBefore = process.cpuUsage();
    expect(() => readArchive(sealArchive(bytes(4, body)))).toThrow('DAR_PARSE_ERROR');
    expect(process.cpuUsage(cpuBefore).user / 1_000).toBeLessThan(1_000);
  });
});
