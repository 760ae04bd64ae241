/** `npm run docs:metrics`: writes docs/reference/metrics.md. */
import { writeFile } from 'node:fs/promises';
import { metricsPage } from './metrics-page.ts';

await writeFile('docs/reference/metrics.md', await metricsPage());
