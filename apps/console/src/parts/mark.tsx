/** A thread that turns at the edge of the cloth and so draws an S, and the red thread beside it. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect class="cloth" width="32" height="32" rx="7" />
    <path class="weft" d="M19.5 8H11a4 4 0 0 0 0 8h6.5a4 4 0 0 1 0 8H8" />
    <path class="warp" d="M27 .6v30.8" />
  </svg>
)
