/** The log of a daemon: JSON lines without secrets and control sequences, failures with an ID, and notes for a person. */
export { errorIdOf } from './error-id.ts'
export { createLog, droppedMessage, type Level } from './log.ts'
export type { Log } from './log-interface.ts'
export { writeNote } from './write-note.ts'
