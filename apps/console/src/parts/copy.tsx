import { useState } from 'preact/hooks'

/** Text to take away: shown as it is, with a button that copies it. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [state, setState] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('Copied')
    } catch {
      setState('Select the text and copy it by hand')
    }
    setTimeout(() => setState(''), 3000)
  }
  return (
    <div class="copy">
      <section aria-label={label}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <pre tabIndex={0}>{text}</pre>
      </section>
      <button type="button" onClick={copy} aria-label={`Copy: ${label}`}>
        {state || 'Copy'}
      </button>
      <span class="unseen" aria-live="polite">
        {state}
      </span>
    </div>
  )
}
