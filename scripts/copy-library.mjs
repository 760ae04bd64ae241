// Copies two libraries, with their licenses, next to the compiled program, so that an installation needs no packages for
// them: uPlot for the query page, and fflate for DARs. Part of the build.
import { cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { resolve } = createRequire(import.meta.url);
const libraries = [
  {
    name: 'uplot',
    folder: dirname(dirname(resolve('uplot/dist/uPlot.iife.min.js'))),
    files: ['dist/uPlot.iife.min.js', 'dist/uPlot.min.css'],
  },
  { name: 'fflate', folder: dirname(resolve('fflate/package.json')), files: ['esm/index.mjs'] },
];
for (const { name, folder, files } of libraries)
  for (const file of [...files, 'LICENSE'])
    cpSync(join(folder, file), join(fileURLToPath(new URL('../dist/vendor/', import.meta.url)), name, file));
