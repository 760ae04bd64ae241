/** All routes of `/api`, in the order of the OpenAPI document. A new route is an entry in one of these lists. */
import { catalogRoutes } from './catalog-routes.ts';
import { contractRoutes } from './contract-routes.ts';
import { historyRoutes } from './history-routes.ts';
import { networkRoutes } from './network-routes.ts';
import type { StoredRoute } from './route.ts';
import { tokenRoutes } from './token-routes.ts';

export const storedRoutes: readonly StoredRoute[] = [
  ...contractRoutes,
  ...historyRoutes,
  ...tokenRoutes,
  ...networkRoutes,
  ...catalogRoutes,
];
