/** `npm run docs:metrics`: writes docs/metrics.md. */
import { writeFile } from 'node:fs/promises';
import { metricsPage } from './metrics-page.ts';

await writeFile('docs/metrics.md', await metricsPage());
