/**
 * `npm run docs:chart`: writes the generated parts of the chart, and the plain YAML that Helm renders from the chart.
 * Exit code 69 if Helm is not installed.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chartFiles, chartFolder } from './chart-files.ts';
import { helmInstallCommand, isHelmInstalled, plainFile, renderManifests } from './helm.ts';

const root = process.cwd();
const files = await chartFiles(root);
rmSync(join(root, chartFolder, 'files'), { recursive: true, force: true });
for (const [path, text] of files) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
if (isHelmInstalled()) writeFileSync(join(root, plainFile), renderManifests(root));
else {
  console.error(`chart: ${plainFile} is unchanged: helm 3 is not installed (${helmInstallCommand})`);
  process.exitCode = 69;
}
