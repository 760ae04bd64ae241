/**
 * DARs of other compilers. They are not part of the project, but in a folder next to it or in the folder of
 * LEDGER_DARS.
 */
import { join } from 'node:path';

const sharedFolder = join(import.meta.dirname, '../../../../shared');

/** Folder of DARs that were made by real compilers instead of by the tests. */
export const darsFolder = process.env['LEDGER_DARS'] ?? join(sharedFolder, 'dars');
