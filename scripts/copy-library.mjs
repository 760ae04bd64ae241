// Copies the library of the query page, with its license, next to the compiled program, so that an installation needs no
// package for it. Part of the build.
import { cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const target = fileURLToPath(new URL('../dist/vendor/uplot', import.meta.url));
const source = dirname(dirname(createRequire(import.meta.url).resolve('uplot/dist/uPlot.iife.min.js')));
for (const name of ['dist/uPlot.iife.min.js', 'dist/uPlot.min.css', 'LICENSE'])
  cpSync(join(source, name), join(target, name));
