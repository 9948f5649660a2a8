/** The log of a daemon: JSON lines without secrets and control sequences, failures with an ID, and notes for a person. */
export { errorIdOf } from './error-id.ts'
export { createLog, droppedMessage, type Level, type Log } from './log.ts'
export { writeNote } from './write-note.ts'
