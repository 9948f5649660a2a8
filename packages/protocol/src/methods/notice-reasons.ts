/** Every reason of a notice, and what a person should do. The list is closed, so a notice leaks no internal detail. */
export const noticeReasons = {
  account_not_confirmed:
    'The identity service does not confirm the account of this node. Associate it again with a new token: selvedge account associate',
  account_differs:
    'In the identity service, this node has another account, or none. Associate it again with a new token, or remove the account: selvedge account unassociate',
  other_machine:
    'The state was of another machine and was set aside: this is a new node. To be the node of before: selvedge device adopt',
  device_copied:
    'Another device has the key of this one, as with a copied disk. On the copy: selvedge device prepare-image',
  join_refused:
    'The join key of this device is not accepted, so it has no account. The runtime tries again; the log has the reason.',
  join_waiting: 'This device waits until an owner of the account approves it.',
  state_damaged:
    'The state of this runtime was damaged and was set aside; account and location are missing until it is restored from a backup. The log has the names of the files.',
  deployments_damaged:
    'The list of images and containers was damaged and was set aside; they are missing until it is restored from a backup. The log has the names of the files.',
  revocations_damaged:
    'The stored lists of revoked tokens were damaged and were set aside. Until they are fetched again, a revoked token may be accepted. The log has the names of the files.',
  leases_damaged:
    'The record of leases was damaged and was set aside. Leases are refused until this device has reached its identity service once, and uses that were not reported yet are missing there. The log has the names of the files.',
  secrets_damaged:
    'Stored secrets were damaged, or the key that they are encrypted with. Services that use them wait. Set them again: selvedge secret list, selvedge secret set <name>. The log has the names of the files.',
  held_paths_damaged:
    'The list of paths that services gave up was damaged and was set aside. Another project may get such a path before its day is over. The log has the names of the files.',
  schedules_damaged:
    'The record of the times at which functions ran was damaged and was set aside. Times that passed while the runtime was off are not run. The log has the names of the files.',
  apps_damaged:
    'The record of the apps was damaged and was set aside. Their containers continue, as single ones; remove these, and deploy the apps again. The log has the names of the files.',
  state_rolled_back:
    'The last change of the state cannot be read, so the previous state is used. Check account, sharing and containers, and repeat the last change. Check the disk of the device.',
  container_failed:
    'A container failed too often and is not started again. Find out why, and start it: selvedge status, selvedge why <name>, selvedge container start <name>',
  function_engine_unavailable:
    'Functions do not start on this device. The runtime tries again; selvedge doctor shows what is missing.',
  oci_engine_unavailable:
    'OCI containers do not start, because their engine does not answer. The runtime tries again; selvedge doctor shows what is missing.',
  recovery_failed:
    'Files or containers of an earlier run of this runtime could not be removed. The runtime tries again at the next start; the log has the cause.',
  receiver_unavailable:
    'The receiver of gps.source sends no positions. The runtime tries again. Check that it is connected and that the runtime may read it.',
  link_local_unavailable:
    'Link-local discovery cannot use a network interface. The runtime tries again; the log has the cause. To turn it off, set linkLocal.enabled to false.',
  revocations_refused:
    'The runtime received a list of revoked tokens that it cannot accept, so it may still accept tokens that were revoked since. The log has the cause.',
  revocations_not_stored:
    'A list of revoked tokens could not be stored. It applies until this runtime ends, and is fetched and stored again. Free space on the disk.',
  revocations_restarted:
    'The list of revoked tokens of the identity service is older than before, or was reset, as after a restored backup. Earlier revocations stay in force here for a day. Revoke those tokens again at the service.',
  revocations_wrong_time:
    'The list of revoked tokens is signed with a time that differs from the clock of this device. Correct the clock that is wrong: of the device or of the identity service.',
  keys_not_stored:
    'The keys of an identity service could not be stored. They apply until this runtime ends, and are stored again. Free space on the disk.',
  keys_refused:
    'An identity service names itself differently from the configuration, or its keys cannot be read, so its tokens are refused. The log has the cause.',
  fixes_dropped:
    'The discovery service was unavailable for so long that the oldest queued fixes of the track were dropped. The newest ones are sent when it answers. Check the network: selvedge status',
  certificate_expires:
    'The TLS certificate of the listeners expires within 14 days, or has expired. Replace the files of listen.tlsCert and listen.tlsKey; a restart is not needed.',
  certificate_unusable:
    'The new TLS certificate cannot be used; the previous one stays in use. Check that listen.tlsCert and listen.tlsKey are readable and match each other; the log has the cause.',
  network_unusable:
    'The network, the proxy or a certificate cannot be used. selvedge status and the log have the cause and the next step.',
  requests_stalled:
    'Calls of a method have not been answered for 10 s, and new ones are refused. Restart the runtime if it does not recover; the log names the method. Please report it.',
  crashed:
    'The runtime crashed because of an exception, and was started again. Please report the log line with this error ID.',
  internal_failure:
    'A part of this runtime failed. The rest keeps running. Please report the log line with this error ID.',
} as const satisfies Record<string, string>

export type NoticeReason = keyof typeof noticeReasons

/** @param reason may come from a newer runtime */
export const describeNoticeReason = (reason: string): string =>
  Object.hasOwn(noticeReasons, reason)
    ? noticeReasons[reason as NoticeReason]
    : 'This version does not know the reason.'
