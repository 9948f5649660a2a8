import type { ShownTrustedIssuer } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form, Select } from '../../parts/form.tsx'
import { useCall } from '../../state/use-call.ts'

interface IssuerPeopleProps {
  readonly rule: ShownTrustedIssuer
  readonly isOwner: boolean
  readonly onChanged: () => Promise<void>
}

/** Whom the tokens of a rule for people are for: each `sub` is linked by an owner. */
export function IssuerPeople({ rule, isOwner, onChanged }: IssuerPeopleProps) {
  const { clientId, issuerId, subjects } = rule
  const [isOpen, setOpen] = useState(false)
  return (
    <span class="line tight">
      {subjects
        .filter(({ email }) => email !== null)
        .map(({ subject, email }) => (
          <span key={subject} class="line tight">
            <span class="tag">
              {subject} is {email}
            </span>
            {isOwner && (
              <Action
                kind="quiet"
                label={`Unlink ${subject}`}
                run={async () => {
                  await api['issuer.unlink']({ clientId, issuerId, subject })
                  await onChanged()
                }}
              >
                Unlink
              </Action>
            )}
          </span>
        ))}
      {isOwner && (
        <button type="button" class="btn quiet" onClick={() => setOpen(true)}>
          Link a person
        </button>
      )}
      {isOpen && <LinkPerson rule={rule} onClose={() => setOpen(false)} onLinked={onChanged} />}
    </span>
  )
}

function LinkPerson(props: { rule: ShownTrustedIssuer; onClose: () => void; onLinked: () => Promise<void> }) {
  const { rule, onClose, onLinked } = props
  const { clientId, issuerId } = rule
  const { data: members = [] } = useCall(() => api['member.list']())
  return (
    <Dialog title="Link a person" closing="Cancel" onClose={onClose}>
      <Form
        submit="Link person"
        send={async (values) => {
          const subject = String(values.get('subject'))
          await api['issuer.link']({ clientId, issuerId, subject, personId: String(values.get('person')) })
          await onLinked()
          onClose()
        }}
      >
        <Field
          label="Subject"
          name="subject"
          hint="The “sub” of this person’s tokens. E-mail addresses in tokens are not used."
          required
          maxLength={512}
          spellcheck={false}
        />
        <Select
          label="Person"
          name="person"
          options={members.map(({ personId, email }) => [personId, email] as const)}
        />
      </Form>
    </Dialog>
  )
}
