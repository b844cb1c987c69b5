"""How text becomes bytes: what people wrote when a page lacked a character."""
