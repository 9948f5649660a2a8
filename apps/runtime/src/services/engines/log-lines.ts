import type { LineRules } from '@selvedge/protocol/lines'

/** Lines of the log of a container: a longer one is split into several. */
export const logLines: LineRules = { maxLine: 8192, longer: 'split', ends: 'lf' }
