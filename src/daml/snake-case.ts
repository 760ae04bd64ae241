/** PascalCase and camelCase to snake_case: `_` at the humps, a run of capitals is one word. What else there is stays. */
export function withoutHumps(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
