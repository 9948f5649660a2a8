import * as z from 'zod'
import { describeNoticeReason, type NoticeReason, noticeReasons } from './notice-reasons.ts'
import { isoTime } from './values.ts'

export { describeNoticeReason, type NoticeReason, noticeReasons }

const reasons = Object.keys(noticeReasons) as [NoticeReason, ...NoticeReason[]]

const maxNames = 8
const maxNameCharacters = 64

/** As many names as a notice has room for. */
export const noticeNames = (names: readonly string[]): string[] =>
  names.slice(0, maxNames).map((name) => name.slice(0, maxNameCharacters))

export const notice = z.object({
  reason: z.enum(reasons).describe('What needs attention'),
  errorId: z.string().describe('ID of the log line that has the details'),
  time: isoTime.describe('When it happened'),
  names: z
    .array(z.string().max(maxNameCharacters))
    .max(maxNames)
    .optional()
    .describe('The methods and routes that it is about, of `requests_stalled`'),
})

/** A condition that needs the attention of a person. It has a reason, and names of the API; other details are only in the log of the device. */
export type Notice = z.infer<typeof notice>

/** A notice as a sentence for a person, also when a newer runtime has reasons that this version does not know. */
export const describeNotice = ({ reason, errorId, time, names = [] }: Notice): string =>
  `${reason}: ${names.length > 0 ? `${names.join(', ')}: ` : ''}${describeNoticeReason(reason)} (error ID ${errorId}, ${time})`
