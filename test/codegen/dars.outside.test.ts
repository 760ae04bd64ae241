/** Generates types of packages that real compilers wrote, for all packages together and for each DAR separately. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ExitCode } from '../../src/errors/exit-code.ts';
import { darNames, darsSkipReason } from '../daml/dars.ts';
import { needs } from '../support/skips/needs.ts';
import { darsFolder } from '../support/wire/recorded.ts';
import { codegen } from './codegen-run.ts';
import { compileErrors } from './compiled.ts';

describe('codegen --dar', () => {
  it('generates types that compile, for each DAR and for all DARs in any order', needs(darsSkipReason), async () => {
    const files = darNames().map((name) => join(darsFolder, name));
    const sources: Record<string, string> = {};
    for (const [at, file] of files.entries()) sources[`dar${String(at)}.ts`] = (await codegen('--dar', file)).text;
    const all = await codegen(...files.flatMap((file) => ['--dar', file]));
    expect(all.code).toBe(ExitCode.stopped);
    expect(await compileErrors({ ...sources, 'all.ts': all.text })).toBe('');
    expect((await codegen(...files.toReversed().flatMap((file) => ['--dar', file]))).text).toBe(all.text);
  });
});
