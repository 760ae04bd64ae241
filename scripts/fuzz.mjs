// Feeds damaged frames to the decoder; test/fuzz/decoder.long.test.ts checks the result of each. The random seed is drawn
// unless it is given.
//   npm run fuzz -- --frames 1000000 --json figures.json --seed 7
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(randomInt(1, 1_000_000_000)) },
    json: { type: 'string', default: '' },
  },
});
if (!/^[1-9]\d{0,9}$/.test(values.frames) || !/^\d{1,10}$/.test(values.seed)) {
  console.error('fuzz: --frames and --seed expect integers');
  process.exit(2);
}
console.log(`fuzz: random seed ${values.seed}`);
const env = {
  ...process.env,
  TEST_RUNS: values.frames,
  TEST_SEED: values.seed,
  FUZZ_JSON: values.json === '' ? '' : resolve(values.json),
};
const child = spawn('npx', ['vitest', 'run', 'test/fuzz'], { stdio: 'inherit', env });
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
  if (code !== 0) console.log(`FAILED\n  again: npm run fuzz -- --frames ${values.frames} --seed ${values.seed}`);
});
