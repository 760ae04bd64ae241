/** All elements of an iterable, in order. */
export async function all<T>(elements: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const element of elements) found.push(element);
  return found;
}
