/** Wall displays show everything larger: tokens.css says by how much. Positions of the pointer and of boxes are the screen's, lengths within are the page's. */
export const zoomOf = (): number => Number(getComputedStyle(document.documentElement).getPropertyValue("--zoom")) || 1;
