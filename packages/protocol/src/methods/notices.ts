import * as z from 'zod'
import { describeNoticeReason, type NoticeReason, noticeReasons } from './notice-reasons.ts'
import { isoTime } from './values.ts'

export { type NoticeReason, noticeReasons }

const reasons = Object.keys(noticeReasons) as [NoticeReason, ...NoticeReason[]]

export const notice = z.object({
  reason: z.enum(reasons).describe('What needs attention'),
  errorId: z.string().describe('ID of the log line that has the details'),
  time: isoTime.describe('When it happened'),
})

/** A condition that needs the attention of a person. It has a reason; the details are only in the log of the device. */
export type Notice = z.infer<typeof notice>

/** A notice as a sentence for a person, also when a newer runtime has reasons that this version does not know. */
export const describeNotice = ({ reason, errorId, time }: Notice): string =>
  `${reason}: ${describeNoticeReason(reason)} (error ID ${errorId}, ${time})`
