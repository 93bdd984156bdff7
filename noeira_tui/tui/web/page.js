// Runs before the terminal's own script looks for its address, which it does when everything is loaded.
document.addEventListener("DOMContentLoaded", () => {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const terminal = document.querySelector("#terminal");
  // The address as this browser sees it: a forwarded port may have another number here.
  terminal.dataset.sessionWebsocketUrl = `${scheme}//${location.host}/ws`;
  const size = Number(new URLSearchParams(location.search).get("fontsize"));
  if (size >= 6 && size <= 72) terminal.dataset.fontSize = String(size);
  document.querySelector("#again").addEventListener("click", () => location.reload());
});

// Keys work without a click first, and after coming back to the page.
const focusTerminal = () => document.querySelector(".xterm-helper-textarea")?.focus();
window.addEventListener("load", () => setTimeout(focusTerminal, 0));
window.addEventListener("focus", focusTerminal);
