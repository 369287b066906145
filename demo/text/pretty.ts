/** Laying JSON out costs time and memory: longer texts stay as they are. */
const LONGEST = 50_000

/** JSON laid out in lines; other and long text as it is. */
export function pretty(text: string): string {
  if (text.length > LONGEST) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
