import { useId, useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Notice } from '../../parts/view.tsx'

type Tested = Awaited<ReturnType<(typeof api)['issuer.test']>>

interface TestTokenProps {
  readonly clientId: string
  readonly issuerId: string
  readonly issuer: string
}

/** Reports which check a token fails, with the value. Nothing is issued. */
export function TestToken({ clientId, issuerId, issuer }: TestTokenProps) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [tested, setTested] = useState<Tested>()
  return (
    <>
      <button
        type="button"
        class="btn quiet"
        aria-label={`Test a token of ${issuer}`}
        onClick={() => {
          setTested(undefined)
          setOpen(true)
        }}
      >
        Test a token
      </button>
      {isOpen && (
        <Dialog title="Test a token" onClose={() => setOpen(false)}>
          <Form
            submit="Test token"
            send={async (values) => {
              const token = String(values.get('token')).trim()
              setTested(await api['issuer.test']({ clientId, issuerId, token }))
            }}
          >
            <div class="field">
              <label for={id}>ID token of {issuer}</label>
              <textarea
                id={id}
                class="input mono"
                name="token"
                rows={5}
                required
                maxLength={8192}
                spellcheck={false}
              />
            </div>
          </Form>
          {tested && <Outcome tested={tested} />}
        </Dialog>
      )}
    </>
  )
}

function Outcome({ tested: { accepted, problem, subject, rules } }: { tested: Tested }) {
  if (accepted)
    return <Notice icon="check" title="Accepted" text={`The rule lets the token of ${subject} in.`} />
  const why = problem ?? rules[0]?.problem ?? ''
  return <Notice kind="bad" icon="triangle-alert" title="Refused" text={why} />
}
