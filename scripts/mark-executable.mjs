// Makes the compiled program executable, because the compiler writes files without the executable bit.
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

chmodSync(fileURLToPath(new URL('../dist/main.js', import.meta.url)), 0o755);
