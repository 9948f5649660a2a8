/** The audit log in plain words: who did what to what, and what it was before. */
import type { AuditRecord } from './records.ts'

/** What an action is, after the name of the person; the target follows. */
const verbs: Readonly<Record<string, string>> = {
  'account.create': 'created the account',
  'account.link': 'created a link to sign in again for',
  'account.revoke_all': 'revoked every token of the account',
  'app.logout': 'signed out of an app',
  'authorization.decide': 'approved the app',
  'authorization_code.reuse': 'used the code of an app twice',
  'company.add': 'added the company',
  'company.link': 'linked the company',
  'company.remove': 'removed the company',
  'company.unlink': 'unlinked the company',
  'company.update': 'changed the rules of a company',
  'developer_token.create': 'created a developer token for',
  'developer_token.revoke': 'revoked a developer token for',
  'device.block': 'blocked the device',
  'device.copy': 'has the key of another device:',
  'device.disassociate': 'removed the device from the account',
  'device.export': 'exported the list of devices as',
  'device.join': 'added the device',
  'device.label': 'changed the name or tags of a device',
  'device.leave': 'left the account:',
  'device.rename': 'calls itself something else:',
  'device.revoke': 'revoked the tokens for the device',
  'device.tag': 'changed the tags of a device:',
  'device.unblock': 'unblocked the device',
  'device_request.decide': 'approved the sign-in of a terminal:',
  'group.add_person': 'added to a group:',
  'group.create': 'created the group',
  'group.delete': 'deleted the group',
  'group.remove_person': 'removed from a group:',
  'invitation.revoke': 'withdrew an invitation',
  'issuer.add': 'trusted the issuer',
  'issuer.link': 'linked a person of an issuer:',
  'issuer.remove': 'stopped trusting the issuer',
  'issuer.revoke': 'revoked tokens of an issuer:',
  'issuer.unlink': 'unlinked a person of an issuer:',
  'join.approve': 'approved the device',
  'join.refuse': 'refused the device',
  'join.set_rules': 'changed who has to be approved:',
  'join_key.create': 'created the join key',
  'join_key.revoke': 'revoked the join key',
  'join_key.use': 'tried to join with a key:',
  'lease.use': 'used a lease:',
  'link.revoke': 'withdrew a link',
  'member.invite': 'invited a person as',
  'member.join': 'joined as',
  'member.remove': 'removed a member',
  'member.set_role': 'changed the role of a member',
  'passkey.create': 'added the passkey',
  'passkey.remove': 'removed a passkey',
  'password.set': 'set a password',
  'project.create': 'created the project',
  'project.delete': 'deleted the project',
  'project.disable': 'turned a project off',
  'project.offline': 'changed the leases of a project:',
  'project.update': 'changed the project',
  'recovery.create': 'created recovery codes',
  'session.create': 'signed in via',
  'session.revoke': 'signed a browser out',
  'session.use': 'used a session without its key:',
  'share.add': 'shared a service:',
  'share.remove': 'stopped sharing a service',
  'sign_in.reuse': 'used an old refresh token:',
  'sign_in.revoke': 'signed a terminal or app out',
  'token.revoke': 'revoked a token:',
}

/** Those of decisions that were against it. */
const refusals: Readonly<Record<string, string>> = {
  'authorization.decide': 'denied the app',
  'device_request.decide': 'denied the sign-in of a terminal:',
  'session.create': 'failed to sign in:',
}

export interface AuditWords {
  readonly verb: string
  /** To what; "" where the verb has all of it. */
  readonly target: string
  /** More about it; "" without. */
  readonly about: string
  /** Each change: what, before, after. */
  readonly changes: readonly (readonly [what: string, before: string, after: string])[]
}

/** @param entry one of a newer service may have an action that is not known here: its words are shown */
export function auditWords({ action, detail, outcome }: AuditRecord): AuditWords {
  const all = outcome === 'refused' ? { ...verbs, ...refusals } : verbs
  const known = Object.hasOwn(all, action) ? all[action] : undefined
  const changes = changesOf(detail)
  const [target = '', ...more] = changes.length > 0 ? [''] : detail.split(', with ')
  return {
    verb: known ?? action.replaceAll(/[._]/g, ' '),
    target,
    about: more.map((each) => `with ${each}`).join(', '),
    changes,
  }
}

const changesOf = (detail: string): AuditWords['changes'] =>
  detail.includes(' → ')
    ? detail.split('; ').flatMap((part) => {
        const [, what = '', before = '', after = ''] = /^(?:([^:→]{1,80}): )?(.*) → (.*)$/s.exec(part) ?? []
        return before === '' ? [] : [[what, before, after] as const]
      })
    : []
