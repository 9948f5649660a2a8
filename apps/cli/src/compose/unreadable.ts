/** What reading cannot continue after; the report has the problem. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}
