/**
 * `npm run docs:chart`: writes what of the chart is made from the rest of the project, and the plain YAML that is made from
 * the chart. Exit code 69 where there is no Helm for the latter.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chartFiles, chartFolder } from './chart-files.ts';
import { howToInstall, isHelmInstalled, plainFile, plainYaml } from './helm.ts';

const root = process.cwd();
const files = await chartFiles(root);
rmSync(join(root, chartFolder, 'files'), { recursive: true, force: true });
for (const [path, text] of files) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
if (isHelmInstalled()) writeFileSync(join(root, plainFile), plainYaml(root));
else {
  console.error(`chart: ${plainFile} is as it was: no helm 3 here (${howToInstall})`);
  process.exitCode = 69;
}
