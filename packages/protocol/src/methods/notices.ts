import * as z from 'zod'
import { isoTime } from './values.ts'

/** Every reason of a notice, and what it asks of a person. The list is closed: a notice carries nothing from the inside. */
export const noticeReasons = {
  account_not_confirmed:
    'The identity service does not confirm the account of this node. Associate it again with a new token: selvedge account associate',
  account_differs:
    'The identity service knows this node with another account, or with none. Associate it again with a new token, or remove the account: selvedge account unassociate',
  state_damaged:
    'The state of this runtime was damaged and was set aside; account and location are gone until it is restored from a backup. The log has the names of the files.',
  deployments_damaged:
    'The list of images and containers was damaged and was set aside; they are gone until it is restored from a backup. The log has the names of the files.',
  revocations_damaged:
    'The stored lists of revoked tokens were damaged and were set aside. Until they are fetched again, a revoked token may be accepted. The log has the names of the files.',
  state_rolled_back:
    'The last change of the state cannot be read, and the state from before it is used. Check account, sharing and containers, and repeat what was changed last. Check the disk of the device.',
  container_failed:
    'A container failed too often and is not started again. Find out why, and start it: selvedge status, selvedge why <name>, selvedge container start <name>',
  function_engine_unavailable:
    'Functions do not start on this device. They are tried again; selvedge doctor shows what is missing.',
  oci_engine_unavailable:
    'OCI containers do not start, since their engine does not answer. They are tried again; selvedge doctor shows what is missing.',
  recovery_failed:
    'What an earlier run of this runtime left could not be removed. It is tried again at the next start; the log has the cause.',
  receiver_unavailable:
    'The receiver of gps.source gives no positions. It is tried again; check that it is connected and that the runtime may read it.',
  link_local_unavailable:
    'Link-local discovery cannot use a network. It is tried again; the log has the cause. Turn it off with linkLocal.enabled if it is not wanted.',
  revocations_refused:
    'A list of revoked tokens arrived that this runtime does not accept, so tokens that were revoked since may still be accepted. The log has the cause.',
  revocations_not_stored:
    'A list of revoked tokens could not be written. It holds until this runtime ends, and is fetched and written again; make room on the disk.',
  revocations_restarted:
    'The list of revoked tokens of the identity service went back or began anew, as after a restored backup. What was revoked before stays revoked here for a day; revoke it again at the service.',
  revocations_wrong_time:
    'The identity service signs its list of revoked tokens with another time than this device has. Set the clock of the one that is wrong.',
  keys_not_stored:
    'The keys of an identity service could not be written. They hold until this runtime ends, and are written again; make room on the disk.',
  keys_refused:
    'An identity service names itself differently from the configuration, or its keys cannot be read, so its tokens are refused. The log has the cause.',
  fixes_dropped:
    'The discovery service did not answer for so long that the oldest fixes of the track were dropped; the newest wait, and are sent when it answers. Check the network: selvedge status',
  certificate_expires:
    'The TLS certificate of the listeners ends within 14 days, or has ended. Replace the files of listen.tlsCert and listen.tlsKey; a restart is not needed.',
  certificate_unusable:
    'The new TLS certificate cannot be used; the previous one stays in use. Check that listen.tlsCert and listen.tlsKey are readable and match each other; the log has the cause.',
  crashed:
    'An exception ended this runtime and it was started again. Please report the log line with this error ID.',
  internal_failure:
    'A part of this runtime failed and the rest goes on. Please report the log line with this error ID.',
} as const satisfies Record<string, string>

export type NoticeReason = keyof typeof noticeReasons

const reasons = Object.keys(noticeReasons) as [NoticeReason, ...NoticeReason[]]

export const notice = z.object({
  reason: z.enum(reasons).describe('What needs attention'),
  errorId: z.string().describe('Stands in the log line that has the details'),
  time: isoTime.describe('When it happened'),
})

/** Something that a person should attend to, as a reason word; the details are in the log of the device only. */
export type Notice = z.infer<typeof notice>

/** A notice as a sentence for a person, also when a newer runtime has reasons that this version does not know. */
export function describeNotice({ reason, errorId, time }: Notice): string {
  const text = Object.hasOwn(noticeReasons, reason)
    ? noticeReasons[reason]
    : 'This version does not know the reason.'
  return `${reason}: ${text} (error ID ${errorId}, ${time})`
}
