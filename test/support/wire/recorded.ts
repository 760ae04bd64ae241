/**
 * DARs of other compilers. They are not part of the project. The tests read them from a folder next to the project, or
 * from the folder in LEDGER_DARS.
 */
import { join } from 'node:path';

const sharedFolder = join(import.meta.dirname, '../../../../shared');

/** Folder of DARs that real compilers have created. */
export const darsFolder = process.env['LEDGER_DARS'] ?? join(sharedFolder, 'dars');
