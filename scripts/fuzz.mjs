// Damaged frames against the decoder, as many as asked for; test/fuzz/decoder.test.ts says what each has to survive.
//   npm run fuzz -- --frames 1000000 --json figures.json --seed 7
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    json: { type: 'string', default: '' },
  },
});
if (!/^[1-9]\d{0,9}$/.test(values.frames) || !/^\d{1,10}$/.test(values.seed)) {
  console.error('fuzz: --frames and --seed take whole numbers');
  process.exit(2);
}
const env = {
  ...process.env,
  FUZZ_FRAMES: values.frames,
  FUZZ_SEED: values.seed,
  FUZZ_JSON: values.json === '' ? '' : resolve(values.json),
};
const child = spawn('npx', ['vitest', 'run', 'test/fuzz'], { stdio: 'inherit', env });
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
