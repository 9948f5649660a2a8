import { escapeControls } from '@selvedge/protocol/redaction'

/** Results for programs: one JSON value. */
export const formatJson = (value: unknown): string => escapeControls(JSON.stringify(value, undefined, 2))

/** One JSON value on one line, for streams. */
export const formatJsonLine = (value: unknown): string => escapeControls(JSON.stringify(value))
