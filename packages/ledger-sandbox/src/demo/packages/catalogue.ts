/** The packages that the sandbox's own templates are of. */
import type { WrittenPackage } from '../../daml-lf/declaration.ts';
import { spliceAmulet } from './amulet.ts';
import { iou, licensingAtStart, tradingApp } from './applications.ts';
import { bonds, stablecoin } from './registries.ts';
import { tokenStandard } from './token-standard.ts';

/** Those that are vetted when a ledger begins; each after the packages it imports. */
export const demoPackages: readonly WrittenPackage[] = [
  ...tokenStandard,
  spliceAmulet,
  stablecoin,
  bonds,
  tradingApp,
  licensingAtStart,
  iou,
];
