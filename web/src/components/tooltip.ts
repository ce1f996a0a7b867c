/** The page's one tooltip. It is set as text within the frame of the hover, outside React. */
let element: HTMLElement | null = null;

export function showTooltip(x: number, y: number, text: string): void {
  if (!element) {
    element = document.createElement("div");
    element.className = "tooltip";
    element.setAttribute("role", "tooltip");
    document.body.append(element);
  }
  if (element.textContent !== text) element.textContent = text;
  const { offsetWidth, offsetHeight } = element;
  const left = Math.max(8, Math.min(window.innerWidth - offsetWidth - 8, x + 14));
  const top = y + 18 + offsetHeight > window.innerHeight ? y - offsetHeight - 8 : y + 16;
  element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  element.style.visibility = "visible";
}

export function hideTooltip(): void {
  if (element) element.style.visibility = "hidden";
}
