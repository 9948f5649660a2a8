import type { ComponentChildren } from 'preact'
import { Mark } from './mark.tsx'
import './lone.css'

/** A page of a person who is not signed in: one form beside the edge of a cloth. */
export function Lone({ children }: { children: ComponentChildren }) {
  return (
    <div class="lone">
      <main id="main">
        <span class="word">
          <Mark />
          Selvedge
        </span>
        <div class="inner">{children}</div>
        <footer>{location.host}</footer>
      </main>
      <div class="cloth-panel" aria-hidden="true" />
    </div>
  )
}
