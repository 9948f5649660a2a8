/** The tables and keys of the identity and the discovery service. */
import { type Bounds, lasting, own, passing } from './bound.ts'

export const stored: Bounds = {
  'apps/identity/src/storage/schema.ts': {
    'table settings': own('one row for each setting'),
    'table counters': own('one row for each counter, and `write-in-turn.ts: maxLocks` for locks'),
    'table signing_keys': own('the keys that the operator makes'),
    'table accounts': own('the accounts that the operator makes'),
    'table account_keys': own('one row for each account'),
    'table enrolment_codes': own('the codes that the operator makes'),
    'table projects': lasting(
      '`projects.ts: maxProjects` of each account',
      '`projects.ts: DELETE FROM projects`',
    ),
    'table developer_tokens': lasting(
      '`developer-tokens.ts: maxTokens` of each account that have not expired',
      '`expired-rows.ts: developer_tokens`',
    ),
    'table people': lasting('those of the accounts', '`members.ts: forgetPerson`'),
    'table members': lasting('`links.ts: maxMembers` of each account', '`members.ts: DELETE FROM members`'),
    'table passkeys': lasting(
      '`passkeys.ts: maxPasskeys` of each person',
      '`passkeys.ts: DELETE FROM passkeys`',
    ),
    'table buckets': lasting(
      'one for each network address, person and browser that tries: `limits.ts: takeAddress`',
      '`expired-rows.ts: buckets`',
    ),
    'table used_proofs': lasting(
      '`limits.ts: takeAddress`, and `dpop.ts: nonceSeconds`',
      '`expired-rows.ts: used_proofs`',
    ),
    'table known_browsers': lasting(
      '`known-browsers.ts: maxBrowsers` of each person',
      '`known-browsers.ts: DELETE FROM known_browsers`',
    ),
    'table replicas': own('one row for each replica'),
    'table links': lasting('`links.ts: maxLinks` of each account', '`expired-rows.ts: links`'),
    'table recovery_codes': lasting('`recovery-codes.ts: count` for each person', 'each new set'),
    'table sessions': lasting('`sessions.ts: sessionTimes.lifeMs`', "`expired-rows.ts: table: 'sessions'`"),
    'table sign_ins': lasting('`sign-ins.ts: expires_at`', '`expired-rows.ts: sign_ins`'),
    'table one_time': lasting('`one-time.ts: life`', '`expired-rows.ts: one_time`'),
    'table device_requests': lasting(
      '`device-requests.ts: requestLimits`',
      '`expired-rows.ts: device_requests`',
    ),
    'table changes': lasting('an hour: `changes.ts: retentionMs:`', '`changes.ts: DELETE FROM changes`'),
    'table revocations': lasting(
      '`folding.ts: heldPerListed` for each account; one row for each node, project and account',
      '`expiry.ts: DELETE FROM revocations`',
    ),
    'table revocation_steps': lasting(
      '`expiry.ts: retained.steps`, and two days',
      '`expiry.ts: DELETE FROM revocation_steps`',
    ),
    'table revocation_lists': own('one row for each issuer of the configuration'),
    'table nodes': lasting(
      '`limits.ts: takeEnrolment`, and `node-rows.ts: maxNodes` of each account',
      '`strangers.ts: DELETE FROM nodes`',
    ),
    'table audit': lasting(
      '`audit.ts: perAccount` of each account and outcome',
      '`audit.ts: DELETE FROM audit`',
    ),
  },
  'apps/identity/src/storage/federation-tables.ts': {
    'table project_issuers': lasting(
      '`issuers.ts: maxIssuers` of each project',
      "`expired-rows.ts: table: 'project_issuers'`",
    ),
    'table federated_subjects': lasting(
      '`subject-statements.ts: maxSubjects` of each rule',
      '`subject-statements.ts: DELETE FROM federated_subjects`',
    ),
    'table issuer_key_sets': lasting(
      'an issuer of a rule has two rows at most, of `issuer-key-sets.ts: maxLength` each',
      "`expired-rows.ts: table: 'issuer_key_sets'`",
    ),
  },
  'apps/identity/src/storage/company-tables.ts': {
    'table companies': own('one row for each domain that the operator adds'),
    'table company_people': lasting(
      '`company-people.ts: maxMembers` of each account',
      '`companies.ts: DELETE FROM company_people`',
    ),
    'table company_sessions': lasting(
      'one row for each session of a company, removed with it',
      '`company-tables.ts: ON DELETE CASCADE`',
    ),
  },
  'apps/identity/src/storage/join-tables.ts': {
    'table join_keys': lasting(
      '`join.ts: keys: 1000` of each account',
      '`old-keys.ts: DELETE FROM join_keys`',
    ),
    'table join_uses': lasting(
      '`join.ts: uses: 100_000` of each key',
      '`old-keys.ts: DELETE FROM join_uses`',
    ),
    'table join_rules': lasting(
      'one row for each account, which only its owners write',
      '`join-rules.ts: ON CONFLICT (account_id)`',
    ),
  },
  'apps/identity/src/storage/share-tables.ts': {
    'table person_groups': lasting(
      '`users.ts: groupsOfAccount` of each account',
      "`expired-rows.ts: table: 'person_groups'`",
    ),
    'table group_members': lasting(
      '`users.ts: peopleOfGroup` of each group',
      "`expired-rows.ts: table: 'group_members'`",
    ),
    'table service_shares': lasting(
      '`users.ts: sharesOfAccount` of each account',
      "`expired-rows.ts: table: 'service_shares'`",
    ),
  },
  'apps/identity/src/storage/device-tables.ts': {
    'table device_vitals': own(
      'one row for each node, with at most `vitals.ts: maxVitalsCharacters` characters',
    ),
    'table device_turns': lasting(
      '`turns.ts: starts: 8` for each node, in one row',
      '`device-tables.ts: ON DELETE CASCADE`',
    ),
    'table device_needs': lasting('four rows for each node', '`device-needs.ts: DELETE FROM device_needs`'),
    'table device_events': lasting(
      '`device-history.ts: maxDeviceEvents` rows for each node',
      '`device-history.ts: DELETE FROM device_events`',
    ),
    'table device_labels': lasting('one row for each node', '`REFERENCES nodes (node_id) ON DELETE CASCADE`'),
    'table device_facets': lasting(
      'four rows for each node, `dpop.ts: maxStatedServices` services and `limits.ts: maxDeviceTags` tags',
      '`DELETE FROM device_facets`',
    ),
  },
  'apps/identity/src/storage/lease-tables.ts': {
    'table project_offline': lasting(
      'one row for each project, and for each removed one until its leases expired',
      '`offline.ts: DELETE FROM project_offline`',
    ),
  },
  'apps/identity/src/storage/app-tables.ts': {
    'table project_apps': lasting(
      'one row for each project, with `identity.ts: appLimits` addresses',
      '`REFERENCES projects (client_id) ON DELETE CASCADE`',
    ),
    'table project_id_tokens': lasting(
      'one row for each project',
      '`REFERENCES projects (client_id) ON DELETE CASCADE`',
    ),
    'table rsa_signing_keys': own('two keys, and those that a rotation retired'),
    'table project_origins': lasting(
      '`identity.ts: appLimits` rows for each project',
      '`project-apps.ts: DELETE FROM project_origins`',
    ),
    'table pushed_requests': lasting(
      '`pushed-requests.ts: requestLimits`',
      '`expired-rows.ts: pushed_requests`',
    ),
    'table authorization_codes': lasting(
      '`authorization-codes.ts: maxCodes` of a person a minute',
      '`expired-rows.ts: authorization_codes`',
    ),
    'table app_consents': lasting(
      'one row for each session, app and account that a person approved',
      '`REFERENCES sessions (session_id) ON DELETE CASCADE`',
    ),
    'table app_sign_ins': lasting(
      'one row for each sign-in',
      '`REFERENCES sign_ins (sid) ON DELETE CASCADE`',
    ),
  },
  'apps/discovery/src/schema.ts': {
    'table last_locations': lasting(
      '`registry.ts: maxNodes` of an account',
      '`durable-copy.ts: DELETE FROM last_locations`',
    ),
    'table counters': own('one row for each counter'),
    'table nodes': lasting('`registry.ts: maxNodes` of an account', '`registry.ts: DELETE FROM nodes`'),
    'table revocation_lists': own('one row for each issuer of the configuration'),
    'table tracks': lasting(
      '`tracks.ts: trackLimits.kept` points of a node',
      '`tracks.ts: DELETE FROM tracks`',
    ),
    'table secrets': own('one row'),
  },
  'apps/discovery/src/stores/cluster/keys.ts': {
    'cellsWithin.found': passing('the cells within `radius`, which a query limits'),
    'keys accountKey': lasting('`registry.ts: maxNodes` of an account', '`put.ts: PEXPIRE`'),
    'keys leftKey': lasting('the nodes that left an account', '`put.ts: PEXPIRE`'),
    'keys cellKey': lasting('the nodes that were heard in a slot of time', '`put.ts: EXPIRE`'),
  },
}
