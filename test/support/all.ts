/** All elements of an iterable, in order. */
export async function collect<T>(elements: AsyncIterable<T>): Promise<T[]> {
  const parsedElements: T[] = [];
  for await (const element of elements) parsedElements.push(element);
  return parsedElements;
}
